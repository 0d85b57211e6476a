/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a node as its agent publishes it. What is not known is left out. */
#include "api/body_common.h"
#include "api/layout.h"
#include "api/quantity.h"

static void add_text(struct json_out *out, const char *key, struct str text)
{
	if (!str_empty(text))
		json_out_string(out, key, text);
}

static void add_index(struct json_out *out, const char *key, uint32_t index)
{
	if (index != LAYOUT_NONE)
		json_out_int(out, key, index);
}

static void add_memory(struct json_out *out, const char *key, int64_t bytes)
{
	if (bytes != AMOUNT_UNKNOWN)
		body_add_bytes(out, key, bytes);
}

/* Speeds are products of ten: binary suffixes would only hide them. */
static void add_speed(struct json_out *out, const char *key, int64_t speed)
{
	char text[QUANTITY_TEXT_SIZE];

	if (speed != AMOUNT_UNKNOWN)
		json_out_string(out, key, (struct str){text, quantity_format_count(speed, text)});
}

static void add_kubelet(struct json_out *out, const struct layout_kubelet *kubelet)
{
	json_out_object(out, "kubelet");
	if (kubelet->policy != LAYOUT_POLICY_UNKNOWN)
		json_out_cstring(out, "topologyPolicy", layout_policy_text(kubelet->policy));
	json_out_cstring(out, "topologyScope", kubelet->pod_scope ? "pod" : "container");
	json_out_cstring(out, "cpuPolicy", kubelet->static_cpu ? "static" : "none");
	json_out_end(out);
}

static void add_numas(struct json_out *out, const struct layout *layout)
{
	json_out_array(out, "numa");
	for (size_t i = 0; i < layout->n_numas; i++) {
		const struct layout_numa *numa = &layout->numas[i];

		json_out_object(out, NULL);
		json_out_int(out, "id", numa->id);
		add_text(out, "cpus", numa->cpus);
		add_memory(out, "memory", numa->memory);
		if (layout->distances) {
			json_out_array(out, "distances");
			for (size_t j = 0; j < layout->n_numas; j++)
				json_out_int(out, NULL, layout->distances[i * layout->n_numas + j]);
			json_out_end_array(out);
		}
		json_out_end(out);
	}
	json_out_end_array(out);
}

static void add_bridges(struct json_out *out, const struct layout *layout)
{
	json_out_array(out, "bridges");
	for (size_t i = 0; i < layout->n_bridges; i++) {
		const struct layout_bridge *bridge = &layout->bridges[i];

		json_out_object(out, NULL);
		json_out_string(out, "pci", bridge->pci);
		add_index(out, "parent", bridge->parent);
		add_speed(out, "speed", bridge->speed);
		json_out_end(out);
	}
	json_out_end_array(out);
}

static void add_migs(struct json_out *out, const struct layout_gpu *gpu)
{
	if (gpu->n_migs == 0)
		return;
	json_out_array(out, "mig");
	for (size_t i = 0; i < gpu->n_migs; i++) {
		json_out_object(out, NULL);
		json_out_string(out, "profile", gpu->migs[i].profile);
		json_out_int(out, "count", gpu->migs[i].count);
		add_memory(out, "memory", gpu->migs[i].memory);
		json_out_end(out);
	}
	json_out_end_array(out);
}

static void add_gpu(struct json_out *out, const struct layout_gpu *gpu)
{
	json_out_object(out, NULL);
	add_text(out, "uuid", gpu->uuid);
	add_index(out, "index", gpu->index);
	json_out_string(out, "pci", gpu->pci);
	add_index(out, "numa", gpu->numa);
	add_index(out, "bridge", gpu->bridge);
	add_speed(out, "speed", gpu->speed);
	add_memory(out, "memory", gpu->memory);
	add_text(out, "product", gpu->product);
	json_out_cstring(out, "sharing", device_sharing_text(gpu->sharing));
	json_out_cstring(out, "health", layout_health_text(gpu->health));
	add_migs(out, gpu);
	json_out_end(out);
}

static void add_links(struct json_out *out, const struct layout *layout)
{
	json_out_array(out, "nvlinks");
	for (size_t i = 0; i < layout->n_links; i++) {
		json_out_object(out, NULL);
		json_out_int(out, "a", layout->links[i].a);
		json_out_int(out, "b", layout->links[i].b);
		add_speed(out, "bandwidth", layout->links[i].bandwidth);
		json_out_end(out);
	}
	json_out_end_array(out);
}

void api_body_layout(struct buf *body, const struct layout *layout)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_int(&out, "version", API_LAYOUT_VERSION);
	add_text(&out, "writer", layout->writer);
	json_out_int(&out, "generation", (int64_t)layout->generation);
	add_kubelet(&out, &layout->kubelet);
	add_numas(&out, layout);
	add_bridges(&out, layout);
	json_out_array(&out, "gpus");
	for (size_t i = 0; i < layout->n_gpus; i++)
		add_gpu(&out, &layout->gpus[i]);
	json_out_end_array(&out);
	add_links(&out, layout);
	json_out_end(&out);
}

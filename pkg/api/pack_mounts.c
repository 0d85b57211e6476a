/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of nodes, and volumes by their claims. */
#include "api/pack_mounts.h"

#include <string.h>

#include "base/limits.h"
#include "base/macros.h"

static const struct host_port any_port = {{"", 0}, {"", 0}, HOST_PORT_ANY};
static const struct pod_volume any_volume = {VOLUME_UNREAD, {NULL, 0}};

void pack_mounts_unknown(struct pod_facts *facts)
{
	facts->ports = &any_port;
	facts->n_ports = 1;
	facts->volumes = &any_volume;
	facts->n_volumes = 1;
}

/* --- ports */

/* k8s.io/kubernetes/pkg/scheduler/util, GetHostPorts: an init container that ends gives its own
 * back. */
static bool stays(const struct wire_container *container, bool init)
{
	return !init || str_equal(container->restart_policy, STR("Always"));
}

static size_t count_ports(const struct wire_list *containers, bool init)
{
	size_t n = 0;

	wire_for_each(const struct wire_container, container, *containers) {
		if (!stays(container, init))
			continue;
		wire_for_each(const struct wire_port, port, container->ports) {
			n += port->host > 0;
		}
	}
	return n;
}

/* Absent ones are what the scheduler takes them for. */
static struct host_port read_port(const struct wire_port *wire)
{
	struct host_port port = {wire->host_ip, wire->protocol, wire->host};

	if (str_empty(port.ip))
		port.ip = STR(HOST_PORT_ALL);
	if (str_empty(port.protocol))
		port.protocol = STR("TCP");
	return port;
}

static void add_ports(const struct wire_list *containers, bool init, struct host_port *ports,
		      size_t *n)
{
	wire_for_each(const struct wire_container, container, *containers) {
		if (!stays(container, init))
			continue;
		wire_for_each(const struct wire_port, port, container->ports) {
			if (port->host > 0)
				ports[(*n)++] = read_port(port);
		}
	}
}

int pack_ports(const struct wire_pod_spec *spec, const struct pack *pack, struct pod_facts *facts)
{
	size_t n =
		count_ports(&spec->init_containers, true) + count_ports(&spec->containers, false);
	struct host_port *ports;

	if (n == 0)
		return 0;
	if (n > LIMIT_PORTS_PER_POD) {
		facts->ports = &any_port;
		facts->n_ports = 1;
		return 0;
	}
	ports = arena_alloc(pack->arena, n * sizeof(*ports));
	if (!ports)
		return pack_no_memory(pack);
	add_ports(&spec->init_containers, true, ports, &facts->n_ports);
	add_ports(&spec->containers, false, ports, &facts->n_ports);
	facts->ports = ports;
	return 0;
}

/* --- volumes */

/* Of the sorts of a volume only these and claims are read. */
bool pack_is_disk(const struct wire_volume *volume)
{
	return (volume->source.present &
		~(UINT64_C(1) << WIRE_VOLUME_CLAIM | UINT64_C(1) << WIRE_VOLUME_EPHEMERAL)) != 0;
}

/* k8s.io/component-helpers/storage/ephemeral, VolumeClaimName */
static bool ephemeral_claim(struct str pod, struct str volume, struct arena *arena,
			    struct str *ret_claim)
{
	size_t len = pod.len + 1 + volume.len;
	char *text = arena_alloc(arena, len + 1);

	if (!text)
		return false;
	memcpy(text, pod.data, pod.len);
	text[pod.len] = '-';
	if (volume.len > 0)
		memcpy(text + pod.len + 1, volume.data, volume.len);
	text[len] = '\0';
	*ret_claim = (struct str){text, len};
	return true;
}

/* A longer name is no claim's: cut to what is still longer, it is looked up in vain. */
static struct str bounded(struct str claim)
{
	return (struct str){claim.data, MIN(claim.len, (size_t)LIMIT_NAME + 1)};
}

/* False where the arena is full. */
static bool read_volume(const struct wire_volume *wire, struct str pod, struct arena *arena,
			struct pod_volume *volumes, size_t *n)
{
	struct pod_volume volume = {VOLUME_INLINE, STR_NONE};

	if (wire_has(&wire->source, WIRE_VOLUME_CLAIM)) {
		volume = (struct pod_volume){VOLUME_CLAIM, wire->source.claim.name};
	} else if (wire_has(&wire->source, WIRE_VOLUME_EPHEMERAL)) {
		volume.sort = VOLUME_EPHEMERAL;
		if (!ephemeral_claim(pod, wire->name, arena, &volume.claim))
			return false;
	} else if (!pack_is_disk(wire)) {
		return true;
	}
	volume.claim = bounded(volume.claim);
	volumes[(*n)++] = volume;
	return true;
}

int pack_volumes(const struct wire_pod_spec *spec, const struct pack *pack, struct pod_facts *facts)
{
	size_t most = MIN(spec->volumes.len, (size_t)LIMIT_VOLUMES_PER_POD);
	struct pod_volume *volumes;

	if (most == 0)
		return 0;
	volumes = arena_alloc(pack->arena, most * sizeof(*volumes));
	if (!volumes)
		return pack_no_memory(pack);
	facts->volumes = volumes;
	wire_for_each(const struct wire_volume, volume, spec->volumes) {
		if (facts->n_volumes == most) {
			volumes[facts->n_volumes - 1] =
				(struct pod_volume){VOLUME_UNREAD, STR_NONE};
			break;
		}
		if (!read_volume(volume, facts->name, pack->arena, volumes, &facts->n_volumes))
			return pack_no_memory(pack);
	}
	return 0;
}

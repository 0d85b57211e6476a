/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_PRESET_H
#define GPUQOS_MODEL_PRESET_H

#include <stdbool.h>
#include <stdint.h>

/* What an objective may measure by the metrics of an inference server: times all. */

/* Presets: name, text in spec.objectives[].preset, whether it is a mean, and so has no percentiles,
 * the largest threshold that anybody can mean, in seconds, as in crds/tenantqos.yaml. What each
 * asks Prometheus is in prom/preset.h. */
#define OBJECTIVE_PRESETS(X)                                           \
	X(VLLM_FIRST_TOKEN, "vllm-time-to-first-token", false, 60)     \
	X(VLLM_INTER_TOKEN, "vllm-inter-token-latency", false, 60)     \
	X(VLLM_QUEUE, "vllm-queue-time", false, 60)                    \
	X(VLLM_REQUEST, "vllm-request-latency", false, 3600)           \
	X(SGLANG_FIRST_TOKEN, "sglang-time-to-first-token", false, 60) \
	X(SGLANG_INTER_TOKEN, "sglang-inter-token-latency", false, 60) \
	X(SGLANG_QUEUE, "sglang-queue-time", false, 60)                \
	X(SGLANG_REQUEST, "sglang-request-latency", false, 3600)       \
	X(TGI_INTER_TOKEN, "tgi-inter-token-latency", false, 60)       \
	X(TGI_QUEUE, "tgi-queue-time", false, 60)                      \
	X(TGI_REQUEST, "tgi-request-latency", false, 3600)             \
	X(TRITON_FIRST_TOKEN, "triton-time-to-first-token", false, 60) \
	X(TRITON_QUEUE, "triton-queue-time", true, 60)                 \
	X(TRITON_REQUEST, "triton-request-latency", true, 3600)

enum objective_preset {
	PRESET_NONE, /* a query of the platform's own */
#define X(name, text, mean, most) PRESET_##name,
	OBJECTIVE_PRESETS(X)
#undef X
		PRESET_COUNT
};

/* Borrowed, static. */
const char *objective_preset_text(enum objective_preset preset); /* PRESET_NONE: "" */
bool objective_preset_is_mean(enum objective_preset preset);
int64_t objective_preset_most_s(enum objective_preset preset); /* seconds; of NONE without bound */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a library of the time before MIG does not have. */
#include <string.h>

#include "model.h"

int nvmlDeviceGetNumaNodeId(nvml_device device, unsigned int *node)
{
	MODEL_FAIL(device);
	if (model_card_of(device)->numa == NVML_NO_INSTANCE)
		return NVML_CODE_NOT_SUPPORTED;
	*node = model_card_of(device)->numa;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetMigMode(nvml_device device, unsigned int *current, unsigned int *pending)
{
	MODEL_FAIL(device);
	*current = *pending = model_card_of(device)->is_mig;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned int *count)
{
	MODEL_FAIL(device);
	*count = model_card_of(device)->mig_count;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned int index,
					nvml_device *partition)
{
	struct model_card *card = model_card_of(device);

	MODEL_FAIL(device);
	if (index >= card->n_partitions)
		return NVML_CODE_NOT_FOUND;
	*partition = (void *)&card->partitions[index];
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetAttributes_v2(nvml_device device, struct nvml_attributes *attributes)
{
	const struct model_partition *partition = (void *)device;

	MODEL_FAIL(device);
	if (!partition->is_partition)
		return NVML_CODE_NOT_SUPPORTED;
	*attributes = (struct nvml_attributes){
		.instance_slices = partition->slices,
		.compute_slices = partition->compute,
		.memory_mib = partition->memory_mib,
	};
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetGpuInstanceId(nvml_device device, unsigned int *id)
{
	const struct model_partition *partition = (void *)device;

	MODEL_FAIL(device);
	*id = partition->instance;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetGpuInstanceById(nvml_device device, unsigned int id, nvml_instance *instance)
{
	struct model_card *card = model_card_of(device);

	MODEL_FAIL(device);
	for (unsigned int i = 0; i < card->n_partitions; i++)
		if (card->partitions[i].instance == id) {
			*instance = (void *)&card->partitions[i];
			return NVML_CODE_SUCCESS;
		}
	return NVML_CODE_NOT_FOUND;
}

/* The number of a profile within a card is another than that of its kind in the library. */
#define PROFILE_ID(profile) (19 - (profile))

int nvmlGpuInstanceGetInfo(nvml_instance instance, struct nvml_instance_info *info)
{
	const struct model_partition *partition = (void *)instance;

	*info = (struct nvml_instance_info){
		.device = (void *)partition->card,
		.id = partition->instance,
		.profile_id = PROFILE_ID(partition->profile),
	};
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetGpuInstanceProfileInfo(nvml_device device, unsigned int profile,
					struct nvml_profile *info)
{
	MODEL_FAIL(device);
	*info = (struct nvml_profile){.id = PROFILE_ID(profile)};
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned int link, int *type)
{
	MODEL_FAIL(device);
	*type = model_card_of(device)->links[link].type;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
	MODEL_FAIL(device);
	for (int i = 0; i < count; i++) {
		unsigned int link = fields[i].scope_id;

		fields[i].code = NVML_CODE_NOT_SUPPORTED;
		if (fields[i].field_id != NVML_FIELD_LINK_SPEED || link >= NVML_MAX_LINKS ||
		    model_card_of(device)->links[link].speed == 0)
			continue;
		fields[i].code = NVML_CODE_SUCCESS;
		fields[i].value_type = NVML_VALUE_UINT;
		fields[i].value.uint = model_card_of(device)->links[link].speed;
	}
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetRemappedRows(nvml_device device, unsigned int *corrected,
			      unsigned int *uncorrected, unsigned int *pending,
			      unsigned int *failed)
{
	const struct model_card *card = model_card_of(device);

	MODEL_FAIL(device);
	if (!card->has_rows)
		return NVML_CODE_NOT_SUPPORTED;
	*corrected = *uncorrected = 0;
	*pending = card->pending;
	*failed = card->failed;
	return NVML_CODE_SUCCESS;
}

int nvmlEventSetCreate(nvml_event_set *set)
{
	*set = (void *)&model;
	return NVML_CODE_SUCCESS;
}

int nvmlEventSetFree(nvml_event_set set)
{
	return set ? NVML_CODE_SUCCESS : NVML_CODE_NOT_FOUND;
}

int nvmlDeviceGetSupportedEventTypes(nvml_device device, unsigned long long *types)
{
	MODEL_FAIL(device);
	*types = NVML_EVENT_XID;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types, nvml_event_set set)
{
	MODEL_FAIL(device);
	model_card_of(device)->is_watched = set && (types & NVML_EVENT_XID);
	return NVML_CODE_SUCCESS;
}

int nvmlEventSetWait_v2(nvml_event_set set, struct nvml_event *event, unsigned int timeout_ms)
{
	if (!set || timeout_ms != 0)
		return NVML_CODE_UNKNOWN;
	for (unsigned int i = 0; i < model.n_cards; i++) {
		struct model_card *card = &model.cards[i];

		if (!card->is_watched || card->n_events == 0)
			continue;
		*event = card->events[--card->n_events];
		event->device = (void *)card;
		return NVML_CODE_SUCCESS;
	}
	return NVML_CODE_TIMEOUT;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned int *count,
					    struct nvml_process *processes)
{
	const struct model_card *card = model_card_of(device);
	unsigned int room = *count;

	MODEL_FAIL(device);
	*count = card->n_processes;
	if (card->n_processes > room)
		return NVML_CODE_INSUFFICIENT_SIZE;
	if (card->n_processes > 0)
		memcpy(processes, card->processes, card->n_processes * sizeof(*processes));
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetProcessUtilization(nvml_device device, struct nvml_utilization *samples,
				    unsigned int *count, unsigned long long since)
{
	const struct model_card *card = model_card_of(device);
	unsigned int room = *count;

	(void)since;
	MODEL_FAIL(device);
	*count = card->n_busy;
	if (card->n_busy > room || !samples)
		return NVML_CODE_INSUFFICIENT_SIZE;
	if (card->n_busy > 0)
		memcpy(samples, card->busy, card->n_busy * sizeof(*samples));
	return card->n_busy > 0 ? NVML_CODE_SUCCESS : NVML_CODE_NOT_FOUND;
}

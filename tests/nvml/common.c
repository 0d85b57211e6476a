/* SPDX-License-Identifier: Apache-2.0 */
/* What every version of the library has. */
#include <stdio.h>

#include "model.h"

int nvmlInit_v2(void)
{
	if (!model_load())
		return NVML_CODE_UNKNOWN;
	return model.init_code;
}

int nvmlShutdown(void)
{
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = model.count;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device)
{
	nvml_device handle;

	if (index >= model.n_cards)
		return NVML_CODE_NOT_FOUND;
	handle = (void *)&model.cards[index];
	MODEL_FAIL(handle);
	*device = handle;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetUUID(nvml_device device, char *uuid, unsigned int length)
{
	struct model_partition *partition = (void *)device;

	MODEL_FAIL(device);
	model_write(partition->is_partition ? partition->uuid : model_card_of(device)->uuid, uuid,
		    length);
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetName(nvml_device device, char *name, unsigned int length)
{
	MODEL_FAIL(device);
	model_write(model_card_of(device)->name, name, length);
	return NVML_CODE_SUCCESS;
}

static void write_pci(unsigned int domain, unsigned int bus, unsigned int device,
		      struct nvml_pci *pci)
{
	*pci = (struct nvml_pci){.domain = domain, .bus = bus, .device = device};
	snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", domain, bus, device);
}

int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci)
{
	const struct model_card *card = model_card_of(device);

	MODEL_FAIL(device);
	write_pci(card->domain, card->bus, card->device, pci);
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
	MODEL_FAIL(device);
	*memory = (struct nvml_memory){.total = model_card_of(device)->memory};
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetNvLinkState(nvml_device device, unsigned int link, int *state)
{
	MODEL_FAIL(device);
	*state = model_card_of(device)->links[link].is_up;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned int link, unsigned int *version)
{
	(void)link;
	MODEL_FAIL(device);
	if (model_card_of(device)->link_version == 0)
		return NVML_CODE_NOT_SUPPORTED;
	*version = model_card_of(device)->link_version;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned int link, struct nvml_pci *pci)
{
	const struct model_link *end = &model_card_of(device)->links[link];

	MODEL_FAIL(device);
	write_pci(end->domain, end->bus, end->device, pci);
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetEccMode(nvml_device device, int *current, int *pending)
{
	MODEL_FAIL(device);
	*current = *pending = model_card_of(device)->has_ecc;
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(nvml_device device, int type, int counter,
				unsigned long long *errors)
{
	MODEL_FAIL(device);
	if (!model_card_of(device)->has_ecc)
		return NVML_CODE_NOT_SUPPORTED;
	*errors = type == NVML_UNCORRECTED && counter == NVML_VOLATILE
			  ? model_card_of(device)->ecc_errors
			  : 0;
	return NVML_CODE_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <stdio.h>

/* Devices: their number and their properties. */

CUresult sim_device_check(const void *output, CUdevice ordinal)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!output)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_device_find(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int *ret_count)
{
	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_count)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_count = sim_driver.device_count;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *ret_device, int ordinal)
{
	CUresult result = sim_device_check(ret_device, ordinal);

	if (result == CUDA_SUCCESS)
		*ret_device = ordinal;
	return result;
}

CUresult cuDeviceGetName(char *ret_name, int size_bytes, CUdevice ordinal)
{
	CUresult result = sim_device_check(ret_name, ordinal);

	if (result == CUDA_SUCCESS && size_bytes <= 0)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		snprintf(ret_name, (size_t)size_bytes, "%s", SIM_DEVICE_NAME);
	return result;
}

CUresult cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice ordinal)
{
	CUresult result = sim_device_check(ret_uuid, ordinal);

	if (result == CUDA_SUCCESS)
		sim_uuid(ordinal, (unsigned char *)ret_uuid->bytes);
	return result;
}

CUresult cuDeviceGetUuid(CUuuid *ret_uuid, CUdevice ordinal)
{
	return cuDeviceGetUuid_v2(ret_uuid, ordinal);
}

CUresult cuDeviceTotalMem_v2(size_t *ret_size_bytes, CUdevice ordinal)
{
	CUresult result = sim_device_check(ret_size_bytes, ordinal);

	if (result == CUDA_SUCCESS)
		*ret_size_bytes = sim_device_find(ordinal)->capacity_bytes;
	return result;
}

static int attribute_value(CUdevice_attribute attribute, CUdevice ordinal)
{
	switch ((int)attribute) {
#define ATTRIBUTE(name, value) \
	case CU_DEVICE_ATTRIBUTE_##name: \
		return value;
#include "contexts/device_attributes.def"
#undef ATTRIBUTE
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		return ordinal + 1;
	default:
		return 0;
	}
}

size_t sim_device_threads(void)
{
	return (size_t)attribute_value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) *
		(size_t)attribute_value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0);
}

CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice ordinal)
{
	CUresult result = sim_device_check(ret_value, ordinal);

	if (result == CUDA_SUCCESS && (int)attribute <= 0)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*ret_value = attribute_value(attribute, ordinal);
	return result;
}

CUresult cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice ordinal)
{
	CUresult result = sim_device_check(ret_major, ordinal);

	if (result == CUDA_SUCCESS && !ret_minor)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		*ret_major = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
		*ret_minor = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
	}
	return result;
}

CUresult cuDeviceGetPCIBusId(char *ret_text, int size_bytes, CUdevice ordinal)
{
	CUresult result = sim_device_check(ret_text, ordinal);

	if (result == CUDA_SUCCESS && size_bytes < 13)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		snprintf(ret_text, (size_t)size_bytes, "0000:%02X:00.0",
			(unsigned int)(ordinal + 1) & 0xff);
	return result;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *ret_device, const char *text)
{
	unsigned int domain, bus, slot;

	if (sim_check_initialized() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_device || !text || sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return CUDA_ERROR_INVALID_VALUE;
	if (domain != 0 || slot != 0 || !sim_device_find((CUdevice)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_device = (CUdevice)bus - 1;
	return CUDA_SUCCESS;
}

/* --- peers ------------------------------------------------------------------------------------ */

CUresult cuDeviceCanAccessPeer(int *ret_can, CUdevice ordinal, CUdevice peer)
{
	CUresult result = sim_device_check(ret_can, ordinal);

	if (result == CUDA_SUCCESS && !sim_device_find(peer))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS)
		*ret_can = ordinal != peer;
	return result;
}

CUresult cuDeviceGetP2PAttribute(int *ret_value, CUdevice_P2PAttribute attribute, CUdevice ordinal,
	CUdevice peer)
{
	(void)attribute;
	return cuDeviceCanAccessPeer(ret_value, ordinal, peer);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (!sim_context_is_live(peer))
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (peer->device == context->device)
		result = CUDA_ERROR_INVALID_DEVICE;
	else if (context->peers & 1u << peer->device->ordinal)
		result = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	else
		context->peers |= 1u << peer->device->ordinal;
	sim_unlock();
	return result;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	sim_lock();
	if (!sim_context_is_live(peer))
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!(context->peers & 1u << peer->device->ordinal))
		result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	else
		context->peers &= ~(1u << peer->device->ordinal);
	sim_unlock();
	return result;
}

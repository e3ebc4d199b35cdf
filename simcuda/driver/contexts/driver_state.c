/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <pthread.h>

#include "settings.h"

struct sim_driver sim_driver;

static pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t setup_once = PTHREAD_ONCE_INIT;
static size_t others_bytes;

void sim_lock(void)
{
	pthread_mutex_lock(&driver_mutex);
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&driver_mutex);
}

/* A thread that does not exist in the child may have held the lock. */
static void after_fork_in_child(void)
{
	pthread_mutex_init(&driver_mutex, NULL);
	sim_driver.forked = sim_driver.initialized;
}

static void setup(void)
{
	struct sim_settings settings;

	sim_settings_read(&settings);
	sim_driver.version = settings.driver_version;
	sim_driver.device_count = settings.device_count;
	sim_driver.context_bytes = settings.context_bytes;
	sim_driver.module_bytes = settings.module_bytes;
	sim_driver.is_module_lazy = settings.is_module_lazy;
	sim_driver.is_limit_charged = settings.is_limit_charged;
	sim_driver.is_unbacked = settings.is_unbacked;
	others_bytes = settings.others_bytes;
	for (int i = 0; i < settings.device_count; i++) {
		sim_driver.devices[i].ordinal = i;
		sim_driver.devices[i].capacity_bytes = settings.capacity_bytes;
		sim_driver.devices[i].used_bytes = settings.others_bytes;
	}
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

void sim_driver_setup(void)
{
	pthread_once(&setup_once, setup);
}

CUresult sim_check_initialized(void)
{
	return sim_driver.initialized && !sim_driver.forked ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

struct sim_device *sim_device_find(CUdevice ordinal)
{
	return ordinal >= 0 && ordinal < sim_driver.device_count ? &sim_driver.devices[ordinal] : NULL;
}

bool sim_device_charge(struct sim_device *device, size_t size_bytes)
{
	/* Another process may have closed the last descriptor that kept some memory. */
	if (size_bytes > device->capacity_bytes - device->used_bytes)
		sim_physicals_drop_unused();
	if (size_bytes > device->capacity_bytes - device->used_bytes)
		return false;
	device->used_bytes += size_bytes;
	return true;
}

void sim_device_refund(struct sim_device *device, size_t size_bytes)
{
	device->used_bytes -= size_bytes;
}

size_t simcuda_used_bytes(int ordinal)
{
	const struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return 0;
	sim_lock();
	sim_physicals_drop_unused();
	/* A forked child has no memory of its parent. */
	size_t used_bytes = sim_driver.forked ? 0 : device->used_bytes - others_bytes;
	sim_unlock();
	return used_bytes;
}

uint64_t sim_next_id(void)
{
	return ++sim_driver.next_id;
}

size_t sim_round_up(size_t size_bytes, size_t unit_bytes)
{
	return (size_bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

CUresult cuInit(unsigned int flags)
{
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_driver_setup();
	if (sim_driver.forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (sim_driver.device_count == 0)
		return CUDA_ERROR_NO_DEVICE;

	CUresult result = CUDA_SUCCESS;
	sim_lock();
	if (!sim_driver.initialized) {
		for (int i = 0; i < sim_driver.device_count && result == CUDA_SUCCESS; i++)
			result = sim_pools_setup(&sim_driver.devices[i]);
		sim_driver.initialized = result == CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	sim_driver_setup();
	*version = sim_driver.version;
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <pthread.h>

/*
 * The device of each thread. The runtime works in the primary context of a device. It retains that
 * context once, when it is first needed, and makes it current in each thread that calls the
 * runtime. A thread that has made another context current keeps that context.
 */

enum { MAX_DEVICES = 16 };

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[MAX_DEVICES];
/* Counts device resets. After a reset, contexts that threads still have are invalid. */
static unsigned int generation;

static _Thread_local int selected_device;
static _Thread_local unsigned int seen_generation;

static cudaError_t make_primary_current(int device)
{
	cudaError_t error = cudaSuccess;

	if (device < 0 || device >= MAX_DEVICES)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&primary_lock);
	bool is_new = !primaries[device];
	if (is_new)
		error = sim_error(sim_driver_calls.cuDevicePrimaryCtxRetain(&primaries[device], device));
	CUcontext primary = primaries[device];
	seen_generation = generation;
	pthread_mutex_unlock(&primary_lock);
	error = error ?: sim_error(sim_driver_calls.cuCtxSetCurrent(primary));
	return error ?: is_new ? sim_code_load_all() : cudaSuccess;
}

cudaError_t sim_enter(void)
{
	CUcontext current = NULL;
	cudaError_t error = sim_load_driver() ?: sim_error(sim_driver_calls.cuCtxGetCurrent(&current));

	if (error)
		return error;
	if (current && seen_generation == __atomic_load_n(&generation, __ATOMIC_RELAXED))
		return cudaSuccess;
	return make_primary_current(selected_device);
}

cudaError_t cudaSetDevice(int device)
{
	int count = 0;
	cudaError_t error = sim_load_driver() ?: sim_error(sim_driver_calls.cuDeviceGetCount(&count));

	if (!error && (device < 0 || device >= count))
		error = cudaErrorInvalidDevice;
	if (!error)
		error = make_primary_current(device);
	if (!error)
		selected_device = device;
	return sim_leave(error);
}

/* Makes the context of a device. The thread's current device does not change. */
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	CUcontext previous = NULL;
	int count = 0;
	cudaError_t error = sim_load_driver() ?: sim_error(sim_driver_calls.cuDeviceGetCount(&count));

	(void)device_flags;
	(void)flags;
	if (!error && (device < 0 || device >= count))
		error = cudaErrorInvalidDevice;
	if (!error)
		error =
			sim_error(sim_driver_calls.cuCtxGetCurrent(&previous)) ?: make_primary_current(device);
	return sim_leave(error ?: sim_error(sim_driver_calls.cuCtxSetCurrent(previous)));
}

cudaError_t cudaSetValidDevices(int *devices, int count)
{
	return sim_leave(devices && count >= 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaChooseDevice(int *ret_device, const struct cudaDeviceProp *properties)
{
	if (!ret_device || !properties)
		return sim_leave(cudaErrorInvalidValue);
	/* All devices are the same, so device 0 is a valid choice. */
	*ret_device = 0;
	return cudaSuccess;
}

/* Queries without making a context: a program may ask before it has a context. */
cudaError_t cudaGetDevice(int *ret_device)
{
	CUcontext current = NULL;
	cudaError_t error = sim_load_driver() ?: sim_error(sim_driver_calls.cuCtxGetCurrent(&current));

	if (!error && !ret_device)
		error = cudaErrorInvalidValue;
	if (!error && current)
		error = sim_error(sim_driver_calls.cuCtxGetDevice(ret_device));
	else if (!error)
		*ret_device = selected_device;
	return sim_leave(error);
}

cudaError_t cudaDeviceReset(void)
{
	int device = 0;
	cudaError_t error = cudaGetDevice(&device);

	if (!error) {
		pthread_mutex_lock(&primary_lock);
		error = sim_error(sim_driver_calls.cuDevicePrimaryCtxReset_v2(device));
		/*
		 * A reset keeps the reference. The runtime releases it, and the next call retains the
		 * context again.
		 */
		if (!error && primaries[device])
			error = sim_error(sim_driver_calls.cuDevicePrimaryCtxRelease_v2(device));
		primaries[device] = NULL;
		__atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&primary_lock);
	}
	return sim_leave(error ?: sim_error(sim_driver_calls.cuCtxSetCurrent(NULL)));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	int device = 0;

	return sim_leave(cudaGetDevice(&device)
			?: sim_error(sim_driver_calls.cuDevicePrimaryCtxSetFlags_v2(device, flags)));
}

cudaError_t cudaGetDeviceFlags(unsigned int *ret_flags)
{
	return SIM_CALL(cuCtxGetFlags(ret_flags));
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	cudaError_t error = sim_enter();
	CUcontext own = NULL, other = NULL;

	/*
	 * The peer's context may not exist yet. Making it must not change the thread's current context.
	 */
	if (!error)
		error = sim_error(sim_driver_calls.cuCtxGetCurrent(&own)) ?: make_primary_current(peer);
	if (!error)
		error = sim_error(sim_driver_calls.cuCtxGetCurrent(&other))
			?: sim_error(sim_driver_calls.cuCtxSetCurrent(own));
	return sim_leave(error ?: sim_error(sim_driver_calls.cuCtxEnablePeerAccess(other, flags)));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	cudaError_t error = sim_enter();

	if (!error && (peer < 0 || peer >= MAX_DEVICES || !primaries[peer]))
		error = cudaErrorPeerAccessNotEnabled;
	return sim_leave(error ?: sim_error(sim_driver_calls.cuCtxDisablePeerAccess(primaries[peer])));
}

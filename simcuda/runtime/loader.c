/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/*
 * Finds the driver in the way observed in NVIDIA's runtime (CUDA 12.4 to 13.0). Tools between
 * runtime and driver must be tested with exactly this sequence. It starts at the first call, not
 * earlier:
 *
 * - dlopen("libcuda.so.1")
 * - one dlsym for "cuGetProcAddress_v2"
 * - through that pointer, a first lookup of the empty name with version 0
 * - through the same pointer, a lookup of every function, each with the version in which its ABI
 *   appeared and with no status: once for legacy streams, and again if a per-thread form exists
 */

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static cudaError_t load_error;

static CUresult needs_newer_driver(void)
{
	return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
}

typedef __typeof__(&cuGetProcAddress_v2) get_proc_address;

#define STREAM_LEGACY CU_GET_PROC_ADDRESS_DEFAULT
#define STREAM_PER_THREAD CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static const struct request {
	const char *name;
	int version;
	cuuint64_t flags;
	size_t offset; /* offset of the pointer in struct sim_driver_calls */
} requests[] = {
#define ENTRY(symbol, name, version, stream) \
	{ #name, version, STREAM_##stream, offsetof(struct sim_driver_calls, symbol) },
#include "../driver/functions.def"
#undef ENTRY
};

static void find_functions(get_proc_address get)
{
	void *unused = NULL;

	get("", &unused, 0, 0, NULL);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		void *address = NULL;
		if (get(requests[i].name, &address, requests[i].version, requests[i].flags, NULL) !=
			CUDA_SUCCESS)
			address = NULL;
		if (!address) {
			CUresult (*substitute)(void) = needs_newer_driver;
			memcpy(&address, &substitute, sizeof(address));
		}
		memcpy((char *)&sim_driver_calls + requests[i].offset, &address, sizeof(address));
	}
}

static cudaError_t load(void)
{
	get_proc_address get;
	int version = 0;

	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		return cudaErrorInsufficientDriver;
	void *address = dlsym(library, "cuGetProcAddress_v2");
	if (!address)
		return cudaErrorInsufficientDriver;
	memcpy(&get, &address, sizeof(get));
	find_functions(get);

	if (sim_driver_calls.cuDriverGetVersion(&version) != CUDA_SUCCESS ||
		version < SIM_RUNTIME_MAJOR * 1000)
		return cudaErrorInsufficientDriver;
	cudaError_t error = sim_error(sim_driver_calls.cuInit(0));
	if (!error)
		sim_code_setup();
	return error;
}

static void load_and_keep_error(void)
{
	load_error = load();
}

cudaError_t sim_load_driver(void)
{
	pthread_once(&load_once, load_and_keep_error);
	return load_error;
}

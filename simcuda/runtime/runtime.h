/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_RUNTIME_H
#define SIMCUDA_RUNTIME_H

/*
 * The simulated runtime: what the files of this folder share.
 *
 * It holds no memory and no state of the device. It finds the driver as NVIDIA's runtime does (see
 * loader.c) and does all work through the pointers it got there, so that whoever stands between
 * runtime and driver sees what they would see with the real pair.
 *
 * An exported function is one of three: a row of forwards.def, which calls one driver function; a
 * function in one of these files; or a row of absent.def, which says "not supported".
 */

/* Declares the forms for per-thread streams as functions of their own, for both APIs. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cuda_runtime_api.h>
#include "../driver/newer.h"
/* From cuda_profiler_api.h, which not every set of headers has. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
#pragma GCC visibility pop

#include <stdbool.h>
#include <stddef.h>

/* 12 or 13: the major version this build of the runtime stands for; its build gives it. */
#ifndef SIM_RUNTIME_MAJOR
#error "SIM_RUNTIME_MAJOR is not defined"
#endif

enum { SIM_RUNTIME_VERSION = SIM_RUNTIME_MAJOR == 12 ? 12090 : 13020 };

/* loader.c: the driver's functions, each under its own name. Those it lacks return an error. */
struct sim_driver_calls {
#define ENTRY(symbol, name, version, stream) __typeof__(&symbol) symbol;
#include "../driver/functions.def"
#undef ENTRY
};

extern struct sim_driver_calls sim_driver;

/* Finds and initializes the driver, the first time; the error of that attempt, then and later. */
cudaError_t sim_load_driver(void);

/* context.c: what most functions do first: the driver, and a context that is current in this thread. */
cudaError_t sim_enter(void);

/* error.c: keeps an error for cudaGetLastError; returns it. What each exported function ends with. */
cudaError_t sim_leave(cudaError_t error);

/* Driver and runtime number their errors alike. */
static inline cudaError_t sim_error(CUresult result)
{
	return (cudaError_t)result;
}

/* All of a function that is one call of the driver. The comma-free `call` is made only after success. */
#define SIM_CALL(call) sim_leave(sim_enter() ?: sim_error(sim_driver.call))

/*
 * code.c: code compiled into the program, which costs memory in each context that it is loaded into.
 * The driver is told of it past all functions that could be interposed.
 */
/* Asks the driver how; once it is initialized. */
void sim_code_setup(void);
/* A handle for the binary; NULL when memory is short. */
void **sim_code_register(const void *binary);
void sim_code_unregister(void **handle);
void sim_code_add_function(void **handle, const void *host_function);
/* Loads what a launch of that function needs into the current context. */
cudaError_t sim_code_load_of(const void *host_function);
/* What a new context, which is current, begins with: everything, unless code is lazy. */
cudaError_t sim_code_load_all(void);

/* memory.c: an array as the driver describes it. */
CUDA_ARRAY3D_DESCRIPTOR sim_describe_array(const struct cudaChannelFormatDesc *channels,
					   struct cudaExtent extent, unsigned int flags);

/*
 * memory.c: what a pointer points to. Each major version writes it into a struct of its own: CUDA 13's is longer, and
 * a program that was built with CUDA 12 has room for 24 bytes only.
 */
struct sim_pointer {
	enum cudaMemoryType type;
	int device;
	void *device_pointer, *host_pointer;
};
cudaError_t sim_describe_pointer(const void *pointer, struct sim_pointer *ret_pointer);

/* device.c: the properties that are no attributes. The driver is loaded by it, if need be. */
cudaError_t sim_query_identity(int device, char (*ret_name)[256], size_t *ret_total_bytes, CUuuid *ret_uuid);

#endif

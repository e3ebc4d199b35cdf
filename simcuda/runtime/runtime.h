/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_RUNTIME_H
#define SIMCUDA_RUNTIME_H

/*
 * What the files of the simulated runtime share.
 *
 * The runtime stores no memory and no device state. It finds the driver in the same way as NVIDIA's
 * runtime (see loader.c). It does all work through the function pointers that it got there. A tool
 * between runtime and driver therefore sees the same calls as with NVIDIA's libraries.
 *
 * An exported function is one of three kinds: a row of forwards.def, which calls one driver
 * function; a function in one of these files; or a row of unsupported.def, which returns "not
 * supported".
 */

/* Makes both headers declare the per-thread-stream forms as functions. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cuda_runtime_api.h>
#include "../driver/extra_declarations.h"
/* From cuda_profiler_api.h, which some sets of headers lack. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
#pragma GCC visibility pop

#include <stdbool.h>
#include <stddef.h>

/* The build defines this as 12 or 13: the major version of CUDA that this runtime represents. */
#ifndef SIM_RUNTIME_MAJOR
#error "SIM_RUNTIME_MAJOR is not defined"
#endif

enum { SIM_RUNTIME_VERSION = SIM_RUNTIME_MAJOR == 12 ? 12090 : 13020 };

/*
 * loader.c: the driver's functions, under their own names. A function that the driver lacks returns
 * an error.
 */
struct sim_driver_calls {
#define ENTRY(symbol, name, version, stream) __typeof__(&symbol) symbol;
#include "../driver/functions.def"
#undef ENTRY
};

extern struct sim_driver_calls sim_driver_calls;

/*
 * Finds and initializes the driver at the first call. All calls return the result of that attempt.
 */
cudaError_t sim_load_driver(void);

/*
 * context.c: Loads the driver and makes sure that the calling thread has a current context. Most
 * functions begin with this call.
 */
cudaError_t sim_enter(void);

/*
 * error.c: Stores an error for cudaGetLastError and returns it. Each exported function ends with
 * this call.
 */
cudaError_t sim_leave(cudaError_t error);

/* The driver and the runtime use the same error numbers. */
static inline cudaError_t sim_error(CUresult result)
{
	return (cudaError_t)result;
}

/*
 * The whole body of a function that is one driver call. The macro evaluates `call` only after
 * success. `call` has no comma outside its parentheses.
 */
#define SIM_CALL(call) sim_leave(sim_enter() ?: sim_error(sim_driver_calls.call))

/*
 * code.c: code compiled into the program. It costs memory in each context that it is loaded into.
 * The runtime reports it to the driver without any function that can be interposed.
 */
/* Gets the driver's private interface for code. Call it once the driver is initialized. */
void sim_code_setup(void);
/* Returns a handle for the image, or NULL if memory is short. */
void **sim_code_register(const void *image);
void sim_code_unregister(void **handle);
void sim_code_add_function(void **handle, const void *host_function);
/* Loads the code that a launch of that function needs into the current context. */
cudaError_t sim_code_load_of(const void *host_function);
/* Loads all code into a new context, which must be current, unless code is lazy. */
cudaError_t sim_code_load_all(void);

/* memory.c: Describes an array in the driver's form. */
CUDA_ARRAY3D_DESCRIPTOR sim_describe_array(const struct cudaChannelFormatDesc *channels,
	struct cudaExtent extent, unsigned int flags);

/*
 * memory.c: the description of a pointer. Each major version writes it into its own struct. CUDA
 * 13's struct is longer; a program built with CUDA 12 has room for 24 bytes only.
 */
struct sim_pointer {
	enum cudaMemoryType type;
	int device;
	void *device_pointer, *host_pointer;
};
cudaError_t sim_describe_pointer(const void *pointer, struct sim_pointer *ret_pointer);

/* device.c: Gets the properties that are not attributes. Loads the driver if needed. */
cudaError_t sim_query_identity(int device, char (*ret_name)[256], size_t *ret_total_bytes,
	CUuuid *ret_uuid);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_SNIPPETS_H
#define GMT_SNIPPETS_H

/*
 * Calls of each hooked function, with the events that they must cause. Only for snippets*.c.
 *
 *	SNIPPET(cuMemAlloc_v2)
 *	{
 *		CUdeviceptr block;
 *
 *		OK(call(&block, 1000));
 *		SAW(alloc, device, .address = block, .size = 1000);
 *		free_block(block);
 *	}
 *
 * `call` is the function under test, with its own type. The route under test returned it. A snippet
 * makes and ends its own objects, with functions of the driver from dlsym. After each hooked call,
 * also in the set-up, the snippet calls SAW for each event that the call must cause, in order. A
 * call without SAW must cause no event. A row of hooks.def without a snippet does not link.
 */

/*
 * Makes the headers declare all forms of a function: also the old forms and the forms for
 * per-thread streams, which are separate functions.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wrappers/missing_cuda_types.h"
#include "simcuda/driver/extra_declarations.h"

/*
 * An expected event. `api` is the function that causes it; NULL means the snippet's own function. A
 * member that is 0 must also be 0 in the event.
 */
struct seen {
	const char *api, *kind, *space;
	unsigned long long address, size, object, stream;
	int device;
};

void saw(const struct seen *seen);
#define SAW(in_kind, in_space, ...) \
	saw(&(struct seen){ .kind = #in_kind, .space = #in_space, ##__VA_ARGS__ })

/*
 * Makes a call that must succeed. Sets errno before the call, and prints whether the call kept it.
 */
#define OK(expression) check((set_errno(), (int)(expression)), #expression)
void set_errno(void);
void check(int result, const char *expression);

/*
 * Ends an object a second time. The driver must refuse this. The expected event is like the event
 * of the first end, but marked as refused.
 */
#ifndef IS_REAL_DEVICE
#define AGAIN(in_space, expression, ...) \
	(set_errno(), refuse((int)(expression), #expression), SAW(free_failed, in_space, ##__VA_ARGS__))
#else
/* A real driver's handles are pointers. After the end, such a pointer may point to other data. */
#define AGAIN(...) ((void)0)
#endif
void refuse(int result, const char *expression);

/* Begins the snippet of a function. `call` is that function. */
#define SNIPPET(symbol) \
	static void run_##symbol(__typeof__(&symbol) call); \
	void snippet_##symbol(void *function); \
	void snippet_##symbol(void *function) \
	{ \
		run_##symbol((__typeof__(&symbol))function); \
	} \
	static void run_##symbol(__typeof__(&symbol) call)

/* The same for the runtime. With a static runtime, the recorder sees the driver's function. */
#define RUNTIME_SNIPPET(symbol, driver_symbol) \
	const char below_##symbol[] = #driver_symbol; \
	SNIPPET(symbol)

/* Returns a function of the driver, for calls other than the call under test. */
void *driver(const char *symbol);
#define D(symbol) ((__typeof__(&symbol))driver(#symbol))

/* Converts a number or pointer to the type that events have. */
#define N(value) ((unsigned long long)(uintptr_t)(value))

/* The recorded stream if a function for per-thread streams gets no stream. */
#define OWN N(CU_STREAM_PER_THREAD)

#define MIB ((size_t)1 << 20)
#define UNIT (2 * MIB) /* of virtual memory management */
#define CONTEXT_BYTES (50 * MIB) /* memory of a context, as set in test_routes.py */

/* These functions make and end objects for several files. They call SAW themselves. */
CUdeviceptr make_block(size_t size_bytes);
void free_block(CUdeviceptr address);
void free_host(void *address);
void free_later(CUdeviceptr address);
void unregister(void *memory);
void *plain_memory(void); /* 64 KiB, aligned, never freed */
CUmemoryPool make_pool(void); /* other processes may import its memory */
void destroy_pool(CUmemoryPool pool);
CUmemoryPool import_pool(CUmemoryPool pool);
CUmemGenericAllocationHandle make_memory(void); /* UNIT bytes of device 0, exportable */
void release_memory(CUmemGenericAllocationHandle handle);
void destroy_array(void *array);
void destroy_mipmap(void *mipmap);
void close_ipc(CUdeviceptr address);
CUipcMemHandle foreign_handle(void); /* of 7000 bytes of another process */
CUexternalMemory import_external(void); /* 1 MiB */
void destroy_external(CUexternalMemory memory);
CUdeviceptr add_nodes(CUgraph graph, size_t size_bytes, int is_freed);
void saw_executable(const char *api, CUgraphExec exec, unsigned long long flags, CUdeviceptr block,
	size_t size_bytes);
CUgraphExec make_executable(CUgraph *ret_graph, int is_freed);
void destroy_executable(CUgraphExec exec, CUgraph graph);

/* Returns how much free memory the current device lost since the last call. Causes no event. */
size_t bytes_taken(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_TESTS_TESTING_H
#define SIMCUDA_TESTS_TESTING_H

/*
 * Each test of the simulated device includes this first: cmocka, and the old and new forms of the
 * API.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include "../driver/extra_declarations.h"

#define MIB ((size_t)1 << 20)

/*
 * There are two devices of this size. The build sets SIMCUDA_DEVICES and SIMCUDA_MEMORY
 * accordingly.
 */
#define CAPACITY_BYTES (1024 * MIB)

#define assert_success(call) assert_int_equal(call, CUDA_SUCCESS)

/* cmocka setup: makes a context on device 0 current in this thread and stores it in *state. */
static inline int make_context(void **state)
{
	CUcontext context;

	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
		return -1;
	*state = context;
	return 0;
}

static inline int destroy_context(void **state)
{
	return cuCtxDestroy_v2(*state) == CUDA_SUCCESS ? 0 : -1;
}

#define CONTEXT_TEST(name) cmocka_unit_test_setup_teardown(name, make_context, destroy_context)

/* Returns the bytes that the current device reports as in use. */
static inline size_t used_bytes(void)
{
	size_t free_bytes = 0, total_bytes = 0;

	assert_success(cuMemGetInfo_v2(&free_bytes, &total_bytes));
	assert_int_equal(total_bytes, CAPACITY_BYTES);
	return total_bytes - free_bytes;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A driver whose cuInit fails as DOCTOR_INIT says: a CUDA error number, `hang` or `crash` (unset:
 * succeeds).
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_INITIALIZED = 3 }; /* CUDA_ERROR_NOT_INITIALIZED */

__attribute__((visibility("default"))) int cuInit(unsigned flags);
__attribute__((visibility("default"))) int cuDriverGetVersion(int *ret_version);
__attribute__((visibility("default"))) int cuMemAlloc_v2(unsigned long long *ret_address,
	size_t size_bytes);

int cuInit(unsigned flags)
{
	const char *init_result = getenv("DOCTOR_INIT");

	(void)flags;
	while (init_result && strcmp(init_result, "hang") == 0)
		pause();
	if (init_result && strcmp(init_result, "crash") == 0)
		raise(SIGKILL);
	return init_result ? atoi(init_result) : 0;
}

int cuDriverGetVersion(int *ret_version)
{
	*ret_version = 11020;
	return 0;
}

int cuMemAlloc_v2(unsigned long long *ret_address, size_t size_bytes)
{
	(void)ret_address;
	(void)size_bytes;
	return NOT_INITIALIZED;
}

/* SPDX-License-Identifier: MIT */
/* A driver that does not start. DOCTOR_INIT: the result of cuInit, or `hang` or `crash`. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int cuInit(unsigned flags);
__attribute__((visibility("default"))) int cuDriverGetVersion(int *ret_version);
__attribute__((visibility("default"))) int cuMemAlloc_v2(unsigned long long *ret_address,
	size_t size_bytes);

int cuInit(unsigned flags)
{
	const char *what = getenv("DOCTOR_INIT");

	(void)flags;
	while (what && strcmp(what, "hang") == 0)
		pause();
	if (what && strcmp(what, "crash") == 0)
		raise(SIGKILL);
	return what ? atoi(what) : 0;
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
	return 3;
}

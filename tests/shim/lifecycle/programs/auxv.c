/* SPDX-License-Identifier: MIT */
/*
 * Preloaded. Pretends to be a kernel whose signal frames may take FRAME_BYTES bytes
 * (AT_MINSIGSTKSZ).
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

__attribute__((visibility("default"))) unsigned long getauxval(unsigned long type)
{
	const char *text = getenv("FRAME_BYTES");
	unsigned long (*next)(unsigned long) = NULL;

	if (type == AT_MINSIGSTKSZ && text)
		return strtoul(text, NULL, 10);
	*(void **)&next = dlsym(RTLD_NEXT, "getauxval");
	return next ? next(type) : 0;
}

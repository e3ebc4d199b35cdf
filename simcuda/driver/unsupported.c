/* SPDX-License-Identifier: MIT */

/*
 * Functions that a program finds, as in a real driver, but that return "not supported". This file
 * does not include NVIDIA's header: the answer does not depend on the parameters, and a C function
 * may be called with arguments that it ignores.
 */

enum { ERROR_NOT_SUPPORTED = 801 }; /* CUDA_ERROR_NOT_SUPPORTED */

#define ENTRY(symbol, name, version, stream) \
	__attribute__((visibility("default"))) int symbol(void); \
	int symbol(void) \
	{ \
		return ERROR_NOT_SUPPORTED; \
	}
#include "unsupported.def"
#undef ENTRY

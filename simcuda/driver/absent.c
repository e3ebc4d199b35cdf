/* SPDX-License-Identifier: MIT */

/*
 * Functions that a program finds, as in a real driver, and that say that they are not supported.
 * NVIDIA's header is left out on purpose: what their parameters are does not matter to the answer,
 * and a C function may be called with arguments that it does not look at.
 */

enum { ERROR_NOT_SUPPORTED = 801 }; /* CUDA_ERROR_NOT_SUPPORTED */

#define ENTRY(symbol, name, version, stream)                     \
	__attribute__((visibility("default"))) int symbol(void); \
	int symbol(void)                                         \
	{                                                        \
		return ERROR_NOT_SUPPORTED;                      \
	}
#include "absent.def"
#undef ENTRY

/* SPDX-License-Identifier: MIT */

/*
 * Functions that say that they are not supported. NVIDIA's header is left out on purpose: what their
 * parameters are does not matter to the answer.
 */

enum { ERROR_NOT_SUPPORTED = 801 }; /* cudaErrorNotSupported */

#define ABSENT(symbol)                                           \
	__attribute__((visibility("default"))) int symbol(void); \
	int symbol(void)                                         \
	{                                                        \
		return ERROR_NOT_SUPPORTED;                      \
	}
#include "absent.def"
#if SIM_RUNTIME_MAJOR == 12
#include "absent12.def"
#endif
#undef ABSENT

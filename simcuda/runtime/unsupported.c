/* SPDX-License-Identifier: MIT */

/*
 * Functions that return "not supported". This file does not include NVIDIA's header, because the
 * answer does not depend on the parameters.
 */

enum { ERROR_NOT_SUPPORTED = 801 }; /* cudaErrorNotSupported */

#define UNSUPPORTED(symbol) \
	__attribute__((visibility("default"))) int symbol(void); \
	int symbol(void) \
	{ \
		return ERROR_NOT_SUPPORTED; \
	}
#include "unsupported.def"
#if SIM_RUNTIME_MAJOR == 12
#include "unsupported12.def"
#endif
#undef UNSUPPORTED

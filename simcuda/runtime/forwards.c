/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/* The functions that consist of one driver call: the rows of forwards.def. */

#define FORWARD(symbol, parameters, target, arguments) \
	cudaError_t symbol parameters \
	{ \
		return SIM_CALL(target arguments); \
	}

#define FORWARD_STREAM(symbol, parameters, target, arguments) \
	FORWARD(symbol, parameters, target, arguments) \
	FORWARD(symbol##_ptsz, parameters, target##_ptsz, arguments)

#include "forwards.def"
#undef FORWARD
#undef FORWARD_STREAM

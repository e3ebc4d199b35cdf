/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_GREEN_H
#define SIMCUDA_GREEN_H

/*
 * Green contexts: a part of a device's multiprocessors, used through the primary context. Memory and
 * code are the primary context's; only streams belong to a green context.
 */

#include "driver.h"

struct CUgreenCtx_st {
	struct CUgreenCtx_st *next;
	struct CUctx_st view; /* what is made current; its id is the green context's */
	CUdevResource resource;
	bool has_ended; /* stays in the list, so that its handles are told from those of live ones */
};

/* The green context whose view this is; NULL for all other contexts. */
struct CUgreenCtx_st *sim_green_of_view(const struct CUctx_st *context);
bool sim_green_is_live(const struct CUgreenCtx_st *green);

#endif

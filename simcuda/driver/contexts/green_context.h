/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_GREEN_CONTEXT_H
#define SIMCUDA_GREEN_CONTEXT_H

/*
 * Green contexts: each one is a part of a device's multiprocessors, and is used through the primary
 * context. Memory and code belong to the primary context. Only streams belong to a green context.
 */

#include "driver.h"

struct CUgreenCtx_st {
	struct CUgreenCtx_st *next;
	/* the context that becomes current; its id is the id of the green context */
	struct CUctx_st view;
	CUdevResource resource;
	bool has_ended; /* an ended one stays in the list, so that its handle is recognized as ended */
};

/* Returns the green context that has this view, or NULL for any other context. */
struct CUgreenCtx_st *sim_green_of_view(const struct CUctx_st *context);
bool sim_green_is_live(const struct CUgreenCtx_st *green);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_PRIVATE_H
#define SIMCUDA_PRIVATE_H

/*
 * What the simulated runtime and the simulated driver settle between themselves, past all functions
 * that could be interposed: code that is compiled into programs. NVIDIA's two do so as well, by tables
 * that cuGetExportTable gives for ids; this is the one id that the simulated driver knows.
 */

#include <cuda.h>
#include <stdbool.h>

struct sim_private_table {
	/* Whether code costs memory; if not, nobody need tell the driver of any. */
	bool (*is_code_charged)(void);
	/* Whether code is loaded with the first launch, and not with the context. */
	bool (*is_code_lazy)(void);
	/* Loads the binary of that address into the current context, unless it is there. */
	CUresult (*load)(const void *binary);
	/* Takes it out of all contexts. */
	void (*unload)(const void *binary);
};

static const CUuuid sim_private_table_id = { { 's', 'i', 'm', 'c', 'u', 'd', 'a', ' ', 'c', 'o', 'd', 'e', ' ', 't', 'a', 'b' } };

#endif

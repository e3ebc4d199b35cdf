/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_RUNTIME_INTERFACE_H
#define SIMCUDA_RUNTIME_INTERFACE_H

/*
 * The private interface between the simulated runtime and the simulated driver, for code that is
 * compiled into programs. No function of it can be interposed. NVIDIA's runtime and driver have
 * such interfaces too: cuGetExportTable returns a table for an id. The simulated driver knows only
 * the id below.
 */

#include <cuda.h>
#include <stdbool.h>

struct sim_runtime_interface {
	/*
	 * Returns whether code costs memory. If not, the runtime need not report any code to the
	 * driver.
	 */
	bool (*is_code_charged)(void);
	/* Returns whether code is loaded at the first launch instead of with the context. */
	bool (*is_code_lazy)(void);
	/* Loads the binary at this address into the current context, unless it is already loaded. */
	CUresult (*load)(const void *binary);
	/* Unloads the binary from all contexts. */
	void (*unload)(const void *binary);
};

static const CUuuid sim_runtime_interface_id = { { 's', 'i', 'm', 'c', 'u', 'd', 'a', ' ', 'c', 'o',
	'd', 'e', ' ', 't', 'a', 'b' } };

#endif

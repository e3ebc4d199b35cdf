/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_SETTINGS_H
#define SIMCUDA_SETTINGS_H

/*
 * What the environment says of the simulated machine. A value that makes no sense is reported with
 * one line on stderr, and the default is used.
 */

#include <stdbool.h>
#include <stddef.h>

struct sim_settings {
	int device_count;      /* SIMCUDA_DEVICES */
	size_t capacity_bytes; /* SIMCUDA_MEMORY, of each device */
	int driver_version;    /* SIMCUDA_DRIVER_VERSION, as cuDriverGetVersion says it */
	/* What a real driver takes of the device without being asked. */
	size_t context_bytes;  /* SIMCUDA_CONTEXT_MEMORY, of each context */
	size_t module_bytes;   /* SIMCUDA_MODULE_MEMORY, of each module in each context */
	bool is_module_lazy;   /* SIMCUDA_LAZY_MODULES: a module costs something from its first use on */
	bool is_limit_charged; /* SIMCUDA_LIMIT_MEMORY: what cuCtxSetLimit raises costs memory */
	bool is_hollow; /* SIMCUDA_HOLLOW: blocks are addresses only, which makes calls several times faster */
	/* What only the management library can tell. */
	size_t others_bytes; /* SIMCUDA_OTHERS_MEMORY: what another process holds, of each device */
	int process_id;      /* SIMCUDA_PROCESS_ID, by which it knows this process; 0: the true one */
};

void sim_settings_read(struct sim_settings *ret_settings);

#endif

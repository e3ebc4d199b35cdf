/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_SETTINGS_H
#define SIMCUDA_SETTINGS_H

/*
 * Settings of the simulated machine, from the environment. For an invalid value, the reader prints
 * one line on stderr and uses the default.
 */

#include <stdbool.h>
#include <stddef.h>

struct sim_settings {
	int device_count;      /* SIMCUDA_DEVICES */
	size_t capacity_bytes; /* SIMCUDA_MEMORY, for each device */
	int driver_version;    /* SIMCUDA_DRIVER_VERSION, the result of cuDriverGetVersion */
	/* Device memory that a real driver takes without a request of the program. */
	size_t context_bytes;  /* SIMCUDA_CONTEXT_MEMORY, for each context */
	size_t module_bytes;   /* SIMCUDA_MODULE_MEMORY, for each module in each context */
	/* SIMCUDA_LAZY_MODULES: a module costs memory only after its first use */
	bool is_module_lazy;
	/* SIMCUDA_LIMIT_MEMORY: a limit that cuCtxSetLimit raises costs memory */
	bool is_limit_charged;
	/* SIMCUDA_HOLLOW: blocks are addresses without memory; calls are several times faster */
	bool is_unbacked;
	/* Used only by the management library. */
	size_t others_bytes; /* SIMCUDA_OTHERS_MEMORY: bytes of each device that another process uses */
	/* SIMCUDA_PROCESS_ID: the id that the library reports for this process; 0: the real id */
	int process_id;
};

void sim_settings_read(struct sim_settings *ret_settings);

#endif

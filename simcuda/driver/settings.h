/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_SETTINGS_H
#define SIMCUDA_SETTINGS_H

/*
 * What the environment says of the simulated machine. A value that makes no sense is reported with
 * one line on stderr, and the default is used.
 */

#include <stddef.h>

struct sim_settings {
	int device_count;      /* SIMCUDA_DEVICES */
	size_t capacity_bytes; /* SIMCUDA_MEMORY, of each device */
	int driver_version;    /* SIMCUDA_DRIVER_VERSION, as cuDriverGetVersion says it */
};

void sim_settings_read(struct sim_settings *ret_settings);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_MEMORY_OF_CALL_H
#define GMT_DRIVER_MEMORY_OF_CALL_H

/*
 * Measures how much device memory the driver takes for itself in a call, by the device's free
 * memory before and after the call. The difference includes what other processes allocate
 * meanwhile, because the driver does not separate processes. NVML does, and it needs no context, so
 * the recorder asks NVML when a context is made. Captures, CUDA's last error and errno stay
 * unchanged. Any thread.
 */

#include <stdint.h>

#include "format/format.h"

struct gmt_memory_of_call {
	int device;          /* of `free_bytes`; GMT_DEVICE_UNKNOWN: the driver did not answer */
	uint64_t free_bytes; /* before the call */
	/* If the call makes a context and NVML answered: the context's device plus 1; else 0 */
	int context_device_plus_1;
	struct gmt_sample sample; /* of that device, before the call */
};

void gmt_memory_of_call_begin(struct gmt_memory_of_call *ret_measure);

/*
 * Begins the measurement of a call that makes a context on `device`. May wait until NVML is open
 * (driver/sampler.h).
 */
void gmt_memory_of_call_begin_context(struct gmt_memory_of_call *ret_measure, int device);

/*
 * Returns the bytes that the driver took. Returns 0 if it took none, or if no query was answered.
 * If the call makes a context, the context must exist by now.
 */
uint64_t gmt_memory_of_call_end(const struct gmt_memory_of_call *measure);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_MEMORY_OF_CALL_H
#define GMT_DRIVER_MEMORY_OF_CALL_H

/*
 * Measures how much device memory a driver call takes for itself: the free memory of the current
 * device before and after the call. Changes by other processes in between are included, because the
 * driver does not separate processes. When a context is made, the recorder asks NVML. NVML
 * separates processes and needs no context. Captures, CUDA's last error and errno stay unchanged.
 * Any thread.
 */

#include <stdint.h>

#include "format/format.h"

struct gmt_memory_of_call {
	/* The device that the driver reported on; GMT_DEVICE_UNKNOWN: the driver could not be asked */
	int device;
	int made_device; /* the device on which a context is made, plus 1; 0: no context is made */
	uint64_t free_bytes;
	struct gmt_sample sample; /* of that device */
};

void gmt_memory_of_call_begin(struct gmt_memory_of_call *ret_measure);

/*
 * Begins the measurement of a context that is about to be made on that device. May wait until NVML
 * is open (driver/sampler.h).
 */
void gmt_memory_of_call_begin_context(struct gmt_memory_of_call *ret_measure, int device);

/*
 * Returns the bytes that the call took. Returns 0 if it took none or if no answer was available. If
 * the call makes a context, the context must exist by now.
 */
uint64_t gmt_memory_of_call_end(const struct gmt_memory_of_call *measure);

#endif

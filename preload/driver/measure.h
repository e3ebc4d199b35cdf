/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_MEASURE_H
#define GMT_DRIVER_MEASURE_H

/*
 * How much device memory a call of the driver takes for itself: what the current device has free, before
 * and after. What other processes do in between is measured too; it cannot be told apart. Around the making
 * of a context NVML is asked, which knows this process from others and needs no context. Captures, CUDA's last
 * error and errno are as before. Any thread.
 */

#include <stdint.h>

#include "format/format.h"

struct gmt_measure {
	int device;      /* that the driver was asked about; GMT_DEVICE_UNKNOWN: it could not be */
	int made_device; /* on which a context is made, plus 1; 0: none is */
	uint64_t free_bytes;
	struct gmt_sample sample; /* of that device */
};

void gmt_measure_begin(struct gmt_measure *ret_measure);

/* A context is about to be made on that device. May wait for NVML to be opened (driver/sampler.h). */
void gmt_measure_begin_context(struct gmt_measure *ret_measure, int device);

/* Bytes that the call took; 0 when it took none, or nobody could be asked. Where a context was made it is there. */
uint64_t gmt_measure_end(const struct gmt_measure *measure);

#endif

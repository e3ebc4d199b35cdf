/* SPDX-License-Identifier: MIT */
#ifndef GMT_OBSERVE_MEASURE_H
#define GMT_OBSERVE_MEASURE_H

/*
 * How much device memory a call of the driver takes for itself: what the current device has free, before
 * and after. What other processes do in between is measured too; it cannot be told apart. Captures,
 * CUDA's last error and errno are as before. Any thread.
 */

#include <stdint.h>

struct gmt_measure {
	int device; /* GMT_DEVICE_UNKNOWN: could not be asked */
	uint64_t free_bytes;
};

void gmt_measure_begin(struct gmt_measure *ret_measure);

/* Of one device, where it is the current one. */
void gmt_measure_begin_on(struct gmt_measure *ret_measure, int device);

/* Bytes that the device has less than at the beginning; 0 when it has more, or could not be asked. */
uint64_t gmt_measure_end(const struct gmt_measure *measure);

#endif

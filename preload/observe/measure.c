/* SPDX-License-Identifier: MIT */
#include "observe/measure.h"

#include <errno.h>

#include "routes/driver.h"
#include "wire/format.h"

void gmt_measure_begin(struct gmt_measure *ret_measure)
{
	uint64_t total_bytes;
	int kept_errno = errno;

	ret_measure->device = gmt_driver_current_memory(&ret_measure->free_bytes, &total_bytes);
	errno = kept_errno;
}

void gmt_measure_begin_on(struct gmt_measure *ret_measure, int device)
{
	gmt_measure_begin(ret_measure);
	if (ret_measure->device != device)
		ret_measure->device = GMT_DEVICE_UNKNOWN;
}

uint64_t gmt_measure_end(const struct gmt_measure *measure)
{
	uint64_t free_bytes = 0, total_bytes;
	int kept_errno = errno;
	int device = measure->device < 0 ? GMT_DEVICE_UNKNOWN :
		gmt_driver_current_memory(&free_bytes, &total_bytes);

	errno = kept_errno;
	return device >= 0 && device == measure->device && free_bytes < measure->free_bytes ?
		measure->free_bytes - free_bytes : 0;
}

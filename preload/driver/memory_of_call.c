/* SPDX-License-Identifier: MIT */
#include "driver/memory_of_call.h"

#include <errno.h>

#include "driver/sampler.h"
#include "driver/driver_queries.h"

void gmt_memory_of_call_begin(struct gmt_memory_of_call *ret_measure)
{
	uint64_t total_bytes;
	int kept_errno = errno;

	*ret_measure = (struct gmt_memory_of_call){ 0 };
	ret_measure->device = gmt_driver_memory_of_current(&ret_measure->free_bytes, &total_bytes);
	errno = kept_errno;
}

void gmt_memory_of_call_begin_context(struct gmt_memory_of_call *ret_measure, int device)
{
	gmt_memory_of_call_begin(ret_measure);
	if (ret_measure->device != device)
		ret_measure->device = GMT_DEVICE_UNKNOWN;
	if (gmt_sampler_sample_now(device, &ret_measure->sample))
		ret_measure->context_device_plus_1 = device + 1;
}

static uint64_t rise(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

/* Returns the bytes by the driver's numbers alone. */
static uint64_t driver_rise(const struct gmt_memory_of_call *measure)
{
	uint64_t free_bytes = 0, total_bytes;
	int kept_errno = errno;
	int device = measure->device < 0 ? GMT_DEVICE_UNKNOWN
									 : gmt_driver_memory_of_current(&free_bytes, &total_bytes);

	errno = kept_errno;
	return device >= 0 && device == measure->device ? rise(free_bytes, measure->free_bytes) : 0;
}

uint64_t gmt_memory_of_call_end(const struct gmt_memory_of_call *measure)
{
	const struct gmt_sample *before = &measure->sample;
	struct gmt_sample after;

	if (!measure->context_device_plus_1 ||
		!gmt_sampler_sample_now(measure->context_device_plus_1 - 1, &after))
		return driver_rise(measure);
	/*
	 * NVML lists a process only if it has a context on the device. Before that the process used 0
	 * bytes.
	 */
	if (before->known & GMT_SAMPLE_NVML && after.known & GMT_SAMPLE_PROCESSES)
		return rise(before->process_bytes, after.process_bytes);
	if (measure->device < 0 && before->known & after.known & GMT_SAMPLE_NVML)
		return rise(before->nvml_used_bytes, after.nvml_used_bytes);
	return driver_rise(measure);
}

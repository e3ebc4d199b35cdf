/* SPDX-License-Identifier: MIT */
/* The checks `devices` and `management`: the GPUs that CUDA sees, and whether NVML can be used. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/doctor/doctor.h"

void gmt_doctor_devices(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	char names[700] = "", variable_text[160] = "";
	size_t length = 0;

	if (!driver->is_initialized || driver->result)
		return;
	if (visible)
		snprintf(variable_text, sizeof(variable_text), " (CUDA_VISIBLE_DEVICES=%.100s)", visible);
	if (!driver->device_count) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "none%s", variable_text);
		return;
	}
	for (uint32_t i = 0;
		i < driver->device_count && i < GMT_DOCTOR_DEVICES && length < sizeof(names); i++)
		length +=
			(size_t)snprintf(names + length, sizeof(names) - length, "%s%s, %s", i ? "; " : "",
				driver->devices[i].name, gmt_text_size(driver->devices[i].total_bytes).text);
	gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%" PRIu32 ": %s%s", driver->device_count,
		names, variable_text);
}

void gmt_doctor_management(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;

	if (!driver->is_initialized || driver->result)
		return;
	if (driver->nvml[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s", driver->nvml);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING, "%s",
			driver->nvml_error[0] ? driver->nvml_error : "not asked");
}

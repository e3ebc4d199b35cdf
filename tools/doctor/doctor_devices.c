/* SPDX-License-Identifier: MIT */
/* The devices, and the library that manages them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/doctor/doctor.h"

void gmt_doctor_devices(const struct gmt_doctor *doctor, struct gmt_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	char list[700] = "", variable[160] = "";
	size_t length = 0;

	if (!driver->is_initialized || driver->result)
		return;
	if (visible)
		snprintf(variable, sizeof(variable), " (CUDA_VISIBLE_DEVICES=%.100s)", visible);
	if (!driver->device_count) {
		gmt_finding_set(finding, GMT_VERDICT_PROBLEM, "none%s", variable);
		return;
	}
	for (uint32_t i = 0;
		i < driver->device_count && i < GMT_DOCTOR_DEVICES && length < sizeof(list); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s, %s", i ? "; " : "",
			driver->devices[i].name, gmt_text_size(driver->devices[i].total_bytes).text);
	gmt_finding_set(finding, GMT_VERDICT_OK, "%" PRIu32 ": %s%s", driver->device_count, list,
		variable);
}

void gmt_doctor_management(const struct gmt_doctor *doctor, struct gmt_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;

	if (!driver->is_initialized || driver->result)
		return;
	if (driver->nvml[0])
		gmt_finding_set(finding, GMT_VERDICT_OK, "%.900s", driver->nvml);
	else
		gmt_finding_set(finding, GMT_VERDICT_WARNING, "%s",
			driver->nvml_why[0] ? driver->nvml_why : "not asked");
}

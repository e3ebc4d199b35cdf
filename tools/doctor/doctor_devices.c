/* SPDX-License-Identifier: MIT */
/* The devices, their device files, and the library that manages them. */
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static size_t count_of(const char *pattern)
{
	glob_t found = { 0 };
	size_t count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;

	globfree(&found);
	return count;
}

static bool is_in_container(void)
{
	return !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK) ||
		getenv("container") || getenv("KUBERNETES_SERVICE_HOST");
}

/*
 * Missing device files matter only if the driver does not start: some drivers work without the
 * usual files.
 */
void gmt_doctor_device_files(const struct gmt_doctor *doctor, struct gmt_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;
	bool works = driver->is_initialized && !driver->result;
	size_t count = count_of("/dev/nvidia[0-9]*");
	const char *container_note = is_in_container() ? ", in this container" : "";

	if (driver->is_simulated)
		gmt_finding_set(finding, GMT_VERDICT_OK, "not needed: the device is simulated");
	else if (!access("/dev/dxg", F_OK))
		gmt_finding_set(finding, GMT_VERDICT_OK, "/dev/dxg: the Windows driver, in WSL");
	else if (count && !access("/dev/nvidiactl", R_OK | W_OK))
		gmt_finding_set(finding, GMT_VERDICT_OK, "/dev/nvidiactl and the files of %zu device%s",
			count, count == 1 ? "" : "s");
	else if (works)
		gmt_finding_set(finding, GMT_VERDICT_OK,
			"the usual files do not exist, and the driver works without them");
	else if (count)
		gmt_finding_set(finding, GMT_VERDICT_PROBLEM, "this user may not open /dev/nvidiactl%s",
			container_note);
	else
		gmt_finding_set(finding, GMT_VERDICT_PROBLEM, "there is no /dev/nvidia0%s", container_note);
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

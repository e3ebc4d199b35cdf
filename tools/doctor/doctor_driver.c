/* SPDX-License-Identifier: MIT */
/* NVIDIA's driver, as a separate process found it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/doctor/doctor.h"

/*
 * A driver without persistence mode initializes every device of the machine; eight devices take
 * some seconds.
 */
enum { TIMEOUT_MS = 30000, OLDEST_VERSION = 11030 };

static const struct cuda_error {
	int number;
	const char *name, *meaning, *remedy;
} cuda_errors[] = {
#define GMT_CUDA_ERROR(number, name, meaning, remedy) { number, #name, meaning, remedy },
#include "tools/doctor/doctor_cuda_errors.def"
#undef GMT_CUDA_ERROR
};

/* Writes LD_PRELOAD without the recorder, because a recording of the probe is not useful. */
static void preload_without_recorder(char *ret_value, size_t value_bytes)
{
	const char *at = getenv("LD_PRELOAD");
	size_t length = (size_t)snprintf(ret_value, value_bytes, "LD_PRELOAD=");

	for (at = at ? at : ""; *at;) {
		size_t word = strcspn(at, ": ");
		bool is_recorder = memmem(at, word, "libgpumemtrace.so", 17);

		if (word && !is_recorder && length + word + 2 < value_bytes)
			length +=
				(size_t)snprintf(ret_value + length, value_bytes - length, "%.*s:", (int)word, at);
		at += word + (at[word] != 0);
	}
}

static void read_answers(struct gmt_doctor_driver *driver,
	const struct gmt_doctor_subprocess *process)
{
	char value[256], key[32];

	if (gmt_doctor_probe_value(process, "version", value, sizeof(value)))
		driver->version = (uint32_t)strtoul(value, NULL, 10);
	if (gmt_doctor_probe_value(process, "init", value, sizeof(value))) {
		driver->is_initialized = true;
		driver->result = atoi(value);
	}
	if (gmt_doctor_probe_value(process, "devices", value, sizeof(value)))
		driver->device_count = (uint32_t)strtoul(value, NULL, 10);
	for (uint32_t i = 0; i < driver->device_count && i < GMT_DOCTOR_DEVICES; i++) {
		char *name;

		snprintf(key, sizeof(key), "device%" PRIu32, i);
		if (!gmt_doctor_probe_value(process, key, value, sizeof(value)))
			continue;
		driver->devices[i].total_bytes = strtoull(value, &name, 10);
		snprintf(driver->devices[i].name, sizeof(driver->devices[i].name), "%.120s",
			name + (*name == ' '));
	}
	driver->is_simulated =
		driver->device_count && strncmp(driver->devices[0].name, "Simulated", 9) == 0;
}

void gmt_doctor_gather_driver(struct gmt_doctor *doctor)
{
	static struct gmt_doctor_subprocess process;
	static const char *const argv[] = { "gpumemtrace", "doctor", NULL };
	struct gmt_doctor_driver *driver = &doctor->driver;
	char preload[2 * PATH_MAX], value[PATH_MAX];
	const char *const changes[] = { GMT_DOCTOR_PROBE "=driver", preload, NULL };

	preload_without_recorder(preload, sizeof(preload));
	gmt_doctor_subprocess_run("/proc/self/exe", argv, changes, TIMEOUT_MS, &process);
	driver->is_found =
		gmt_doctor_probe_value(&process, "driver", driver->path, sizeof(driver->path));
	driver->has_timed_out = process.has_timed_out;
	driver->has_crashed =
		process.is_started && !process.has_timed_out && WIFSIGNALED(process.status);
	if (!gmt_doctor_probe_value(&process, "driver_error", driver->open_error,
			sizeof(driver->open_error)))
		gmt_doctor_subprocess_error_line(&process, NULL, driver->open_error,
			sizeof(driver->open_error));
	read_answers(driver, &process);
	if (gmt_doctor_probe_value(&process, "nvml_init", value, sizeof(value)) &&
		strcmp(value, "0") != 0)
		snprintf(driver->nvml_error, sizeof(driver->nvml_error), "nvmlInit_v2 returns error %.20s",
			value);
	else if (!gmt_doctor_probe_value(&process, "nvml", driver->nvml, sizeof(driver->nvml)))
		gmt_doctor_probe_value(&process, "nvml_error", driver->nvml_error,
			sizeof(driver->nvml_error));
	gmt_doctor_probe_value(&process, "release", driver->release, sizeof(driver->release));
}

void gmt_doctor_driver_found(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;

	if (driver->is_found)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s", driver->path);
	else if (driver->has_timed_out)
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"opening libcuda.so.1 takes more than %d s", TIMEOUT_MS / 1000);
	else if (driver->has_crashed)
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"opening libcuda.so.1 crashes the process");
	else if (driver->open_error[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%s", driver->open_error);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN,
			"no process could be started to open libcuda.so.1");
}

static void explain_result(int number, struct gmt_doctor_finding *finding)
{
	for (size_t i = 0; i < sizeof(cuda_errors) / sizeof(*cuda_errors); i++)
		if (cuda_errors[i].number == number) {
			gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "cuInit returns error %d, %s: %s",
				number, cuda_errors[i].name, cuda_errors[i].meaning);
			gmt_doctor_finding_advise(finding, "%s", cuda_errors[i].remedy);
			return;
		}
	gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "cuInit returns error %d", number);
}

void gmt_doctor_driver_starts(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;

	if (!driver->is_found)
		return;
	if (driver->is_initialized && driver->result)
		explain_result(driver->result, finding);
	else if (driver->is_initialized)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "cuInit succeeds%s",
			driver->is_simulated ? "; the device is simulated" : "");
	else if (driver->has_timed_out)
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "cuInit did not return within %d s",
			TIMEOUT_MS / 1000);
	else if (driver->has_crashed)
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "cuInit crashes the process");
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"this libcuda.so.1 has no function cuInit");
}

void gmt_doctor_driver_version(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_driver *driver = &doctor->driver;
	const char *torch = doctor->python.torch_cuda;
	uint32_t major = driver->version / 1000, minor = driver->version % 1000 / 10;
	char release[96] = "";

	if (!driver->is_found || !driver->version)
		return;
	if (driver->release[0])
		snprintf(release, sizeof(release), ", release %s", driver->release);
	if (driver->version < OLDEST_VERSION) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"CUDA %u.%u%s: older than 11.3; the recorder is not tested with it", major, minor,
			release);
	} else if (torch[0] && strtoul(torch, NULL, 10) > major) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"CUDA %u.%u%s; PyTorch is built for CUDA %s", major, minor, release, torch);
		gmt_doctor_finding_advise(finding, "install a newer driver, or a PyTorch for CUDA %u",
			major);
	} else {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "CUDA %u.%u%s", major, minor, release);
	}
}

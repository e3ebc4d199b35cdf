/* SPDX-License-Identifier: MIT */
/* The recorder: where it is, and whether the dynamic linker loads it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"
#include "tools/recordings/recorder_version.h"

enum { TIMEOUT_MS = 20000 };

/*
 * Names of the build's own copy first (preload/meson.build), in the order in which the recorder
 * looks for them.
 */
static const char *const unwinders[] = { "libgmtunw.so.8", "libunwind.so.8" };

static void probe(struct gmt_doctor_subprocess *process, const char *what, const char *preload)
{
	static const char *const argv[] = { "gpumemtrace", "doctor", NULL };
	char question[64], value[2 * PATH_MAX];
	const char *changes[] = { question, value, NULL };

	snprintf(question, sizeof(question), GMT_DOCTOR_PROBE "=%s", what);
	if ((size_t)snprintf(value, sizeof(value), "LD_PRELOAD=%s", preload) >= sizeof(value))
		changes[1] = NULL;
	gmt_doctor_subprocess_run("/proc/self/exe", argv, changes, TIMEOUT_MS, process);
}

static void find_unwinder(struct gmt_doctor_recorder *recorder,
	struct gmt_doctor_subprocess *process)
{
	const char *slash = strrchr(recorder->path, '/');

	for (size_t i = 0; slash && i < sizeof(unwinders) / sizeof(*unwinders); i++) {
		snprintf(recorder->unwinder, sizeof(recorder->unwinder), "%.*s/%s",
			(int)(slash - recorder->path), recorder->path, unwinders[i]);
		if (!access(recorder->unwinder, R_OK))
			return;
	}
	recorder->unwinder[0] = 0;
	probe(process, "unwinder", "");
	gmt_doctor_probe_value(process, "unwinder", recorder->unwinder, sizeof(recorder->unwinder));
}

void gmt_doctor_gather_recorder(struct gmt_doctor *doctor)
{
	static struct gmt_doctor_subprocess process;
	struct gmt_doctor_recorder *recorder = &doctor->recorder;

	recorder->is_found = gmt_recorder_find(recorder->path, recorder->why, recorder->remedy);
	if (!recorder->is_found)
		return;
	find_unwinder(recorder, &process);

	char *preload = gmt_recorder_put_first("LD_PRELOAD", recorder->path);
	probe(&process, "recorder", preload ? preload : recorder->path);
	free(preload);

	char path[PATH_MAX];
	recorder->is_loaded = gmt_doctor_probe_value(&process, "recorder", path, sizeof(path));
	gmt_doctor_probe_value(&process, "dlsym_file", recorder->dlsym_file,
		sizeof(recorder->dlsym_file));
	gmt_doctor_probe_value(&process, "get_proc_address_file", recorder->get_proc_address_file,
		sizeof(recorder->get_proc_address_file));
	gmt_doctor_subprocess_error_line(&process, "libgpumemtrace.so", recorder->linker_error,
		sizeof(recorder->linker_error));
}

void gmt_doctor_recorder_found(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_recorder *recorder = &doctor->recorder;
	char version[GMT_RECORDER_VERSION_BYTES];

	if (recorder->is_found && gmt_recorder_version_differs(recorder->path, version)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING, "%.900s has version %s, not %s",
			recorder->path, version, GMT_PROGRAM_VERSION);
		gmt_doctor_finding_advise(finding, "install gpumemtrace again");
		return;
	}
	if (recorder->is_found) {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s", recorder->path);
		return;
	}
	gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s", recorder->why);
	gmt_doctor_finding_advise(finding, "%.900s", recorder->remedy);
}

void gmt_doctor_recorder_loads(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_recorder *recorder = &doctor->recorder;

	if (!recorder->is_found)
		return;
	if (recorder->is_loaded)
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"LD_PRELOAD loads the recorder into a process");
	else if (recorder->linker_error[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"LD_PRELOAD does not load the recorder: %s", recorder->linker_error);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"LD_PRELOAD does not load the recorder");
}

void gmt_doctor_unwinder(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	if (!doctor->recorder.is_found)
		return;
	if (doctor->recorder.unwinder[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s", doctor->recorder.unwinder);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"none found; the recorder uses libgcc's unwinder, which is slower");
}

/*
 * Checks that driver functions lead to the recorder. This fails if another library before the
 * recorder answers the lookup, or if the recorder does not know this driver's functions.
 */
void gmt_doctor_calls_reach(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	const struct gmt_doctor_recorder *recorder = &doctor->recorder;
	bool dlsym_reaches = strstr(recorder->dlsym_file, "libgpumemtrace.so");
	bool get_proc_address_reaches = strstr(recorder->get_proc_address_file, "libgpumemtrace.so");

	if (!doctor->driver.is_found || !recorder->is_loaded)
		return;
	if (!recorder->dlsym_file[0])
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN,
			"the process with the recorder did not report");
	else if (!dlsym_reaches)
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"dlsym finds cuMemAlloc_v2 in %.900s, not in the recorder", recorder->dlsym_file);
	else if (recorder->get_proc_address_file[0] && !get_proc_address_reaches)
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"cuGetProcAddress finds cuMemAlloc in %.900s, not in the recorder",
			recorder->get_proc_address_file);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "with dlsym%s",
			get_proc_address_reaches ? " and with cuGetProcAddress" : "");
}

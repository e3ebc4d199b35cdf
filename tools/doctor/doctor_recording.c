/* SPDX-License-Identifier: MIT */
/* --run: records the command into a temporary folder. */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "reader/load/recording.h"
#include "tools/recordings/run_child.h"
#include "tools/doctor/doctor.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/shared_recordings.h"
#include "tools/output/message.h"

struct outcome {
	int code; /* exit code of the command */
	uint64_t files, unreadable, events, incomplete;
	bool has_stacks, has_python;
};

static bool set_variables(const struct gmt_doctor *doctor, const char *folder)
{
	const char *before = getenv("GPUMEMTRACE_OPTIONS");
	char *preload = gmt_recorder_put_first("LD_PRELOAD", doctor->recorder.path), *options = NULL;
	bool done = preload &&
		asprintf(&options, "%s%soutput='%s/%%p.%%n.gmt.gz'", before ? before : "",
			before && *before ? ":" : "", folder) > 0 &&
		!setenv("LD_PRELOAD", preload, 1) && !setenv("GPUMEMTRACE_OPTIONS", options, 1);

	free(preload);
	free(options);
	return done;
}

static void restore_variables(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/*
 * Runs the command recorded, with its stdout sent to stderr, because stdout is for doctor's own
 * output.
 */
static int run_recorded(const struct gmt_doctor *doctor, const char *folder)
{
	const char *preload = getenv("LD_PRELOAD"), *options = getenv("GPUMEMTRACE_OPTIONS");
	char *kept_preload = preload ? strdup(preload) : NULL,
		 *kept_options = options ? strdup(options) : NULL;
	int kept = dup(STDOUT_FILENO), code = GMT_CHILD_OWN_FAILURE, signal;

	fflush(stdout);
	if (kept >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
		if (set_variables(doctor, folder))
			code = gmt_child_run(doctor->command, &signal);
		dup2(kept, STDOUT_FILENO);
	}
	if (kept >= 0)
		close(kept);
	restore_variables("LD_PRELOAD", kept_preload);
	restore_variables("GPUMEMTRACE_OPTIONS", kept_options);
	free(kept_preload);
	free(kept_options);
	return code;
}

/* Removes a file of the trial, and the shared-memory recording that a killed program left. */
static void remove_file(const char *path)
{
	struct gmt_shared_recording *shared_recording = gmt_shared_recordings_find(path, NULL);

	if (shared_recording)
		gmt_shared_recordings_remove(shared_recording);
	gmt_shared_recording_close(shared_recording);
	unlink(path); /* fails for . and .. */
}

static void count(const char *path, struct outcome *outcome)
{
	struct gmt_recording *recording;

	outcome->files++;
	if (gmt_input_load(path, &recording)) {
		outcome->unreadable++;
		return;
	}
	outcome->events += recording->seen_events;
	outcome->incomplete += !gmt_recording_complete(recording);
	outcome->has_stacks |= recording->stacks.count != 0;
	outcome->has_python |= recording->frames.count != 0;
	gmt_recording_free(recording);
}

static bool record(const struct gmt_doctor *doctor, struct outcome *ret_outcome)
{
	const char *place = getenv("TMPDIR");
	char folder[PATH_MAX], pattern[PATH_MAX + 16];
	glob_t files = { 0 };

	snprintf(folder, sizeof(folder), "%.4000s/gpumemtrace-doctor.XXXXXX",
		place && *place ? place : "/tmp");
	if (!mkdtemp(folder)) {
		gmt_message_error("%s: %s", folder, strerror(errno));
		return false;
	}
	ret_outcome->code = run_recorded(doctor, folder);
	snprintf(pattern, sizeof(pattern), "%s/*", folder);
	if (!glob(pattern, GLOB_PERIOD, NULL, &files))
		for (size_t i = 0; i < files.gl_pathc; i++) {
			if (strstr(gmt_text_base_name(files.gl_pathv[i]), ".gmt.gz"))
				count(files.gl_pathv[i], ret_outcome);
			remove_file(files.gl_pathv[i]);
		}
	globfree(&files);
	rmdir(folder);
	return true;
}

void gmt_doctor_recording(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	struct outcome outcome = { 0 };
	bool with_python = doctor->python.is_python;

	if (!doctor->run || !doctor->command || !doctor->recorder.is_found ||
		doctor->program.state != GMT_PROGRAM_FOUND)
		return;
	if (!record(doctor, &outcome)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN,
			"no folder for the trial recording is writable");
		gmt_doctor_finding_advise(finding, "set TMPDIR to a writable folder");
	} else if (!outcome.files) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM,
			"nothing was recorded: the program did not use CUDA (exit code %d)", outcome.code);
		gmt_doctor_finding_advise(finding, "see the program's own messages and the other findings");
	} else if (outcome.unreadable || outcome.incomplete) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"%" PRIu64 " of %" PRIu64 " files are incomplete or unreadable (exit code %d)",
			outcome.unreadable + outcome.incomplete, outcome.files, outcome.code);
		gmt_doctor_finding_advise(finding, "see gpumemtrace info FILE");
	} else {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"%" PRIu64 " file%s, %" PRIu64 " events, %s native stacks%s (exit code %d)",
			outcome.files, outcome.files == 1 ? "" : "s", outcome.events,
			outcome.has_stacks ? "with" : "without",
			!with_python             ? ""
				: outcome.has_python ? ", with Python's"
									 : ", without Python's",
			outcome.code);
	}
}

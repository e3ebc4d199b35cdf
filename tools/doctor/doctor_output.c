/* SPDX-License-Identifier: MIT */
/* Where the recorder writes: the file, and the shared memory that outlives a killed process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "system/file_identity.h"
#include "base/text.h"
#include "tools/doctor/doctor.h"
#include "options/recorder_options.h"

#define MIB ((uint64_t)1 << 20)

enum {
	FULL_MIB = 16,     /* less free space is a problem */
	SCARCE_MIB = 1024, /* less free space is a warning */
	SHARED_RECORDING_MIB = 8, /* initial size of a recording in /dev/shm: its stacks and a ring */
	SHARED_RECORDING_SCARCE_MIB = 32, /* size with rings for a few threads */
};

static void output_template(char ret_output[PATH_MAX + 64])
{
	const char *options = getenv("GPUMEMTRACE_OPTIONS");

	gmt_recorder_output(options ? options : "", ret_output, PATH_MAX + 64);
}

void gmt_doctor_output_name(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	char output[PATH_MAX + 64], why[GMT_RECORDER_COMPLAINT_BYTES];

	(void)doctor;
	output_template(output);
	if (gmt_file_is_device(output)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s is a device", output);
		return;
	}
	if (!gmt_recorder_output_is_possible(output, why)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.500s %s", output, why);
		return;
	}
	gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s", output);
}

/*
 * Finds the existing folder in which the rest of the name will be created. It ends before the first
 * token, whose value is known only in the program. Returns whether folders must be created.
 */
static bool output_folder(char ret_folder[PATH_MAX + 64])
{
	struct stat status;
	bool is_shortened = false;

	output_template(ret_folder);
	ret_folder[strcspn(ret_folder, "%")] = 0;
	for (;;) {
		char *slash = strrchr(ret_folder, '/');

		if (!slash) {
			strcpy(ret_folder, ".");
			return is_shortened;
		}
		slash[slash == ret_folder] = 0;
		if (slash == ret_folder || !stat(ret_folder, &status))
			return is_shortened;
		is_shortened = true;
	}
}

void gmt_doctor_output_folder(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	char folder[PATH_MAX + 64], whole[PATH_MAX];
	bool is_shortened = output_folder(folder);
	struct stat status;

	(void)doctor;
	if (!realpath(folder, whole))
		snprintf(whole, sizeof(whole), "%.4000s", folder);
	if (!stat(folder, &status) && !S_ISDIR(status.st_mode))
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s is not a folder", whole);
	else if (access(folder, W_OK | X_OK))
		gmt_doctor_finding_set(finding, GMT_FINDING_PROBLEM, "%.900s: %s", whole, strerror(errno));
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%.900s%s", whole,
			is_shortened ? ", where the recorder creates the missing folders" : "");
}

static uint64_t free_bytes(const struct statvfs *system)
{
	return (uint64_t)system->f_bavail * system->f_frsize;
}

void gmt_doctor_output_space(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	char folder[PATH_MAX + 64];
	struct statvfs system;

	(void)doctor;
	output_folder(folder);
	if (statvfs(folder, &system)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN, "%.800s: %s", folder, strerror(errno));
		return;
	}

	if (!system.f_blocks) {
		gmt_doctor_finding_set(finding, GMT_FINDING_UNKNOWN,
			"the file system of %.800s does not report its free space", folder);
		return;
	}

	uint64_t bytes = free_bytes(&system);
	gmt_doctor_finding_set(finding,
		bytes < FULL_MIB * MIB         ? GMT_FINDING_PROBLEM
			: bytes < SCARCE_MIB * MIB ? GMT_FINDING_WARNING
									   : GMT_FINDING_OK,
		"%s free", gmt_text_size(bytes).text);
}

/*
 * Returns whether the recorder's folder in /dev/shm exists and does not belong to this user alone.
 */
static bool is_taken(void)
{
	char folder[64];
	struct stat status;

	snprintf(folder, sizeof(folder), "/dev/shm/gpumemtrace-%u", (unsigned)geteuid());
	return !lstat(folder, &status) &&
		(!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0);
}

/*
 * Without /dev/shm, the rings lie next to the file. Events are lost only if there is no space there
 * either.
 */
void gmt_doctor_shared_memory(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	static const char instead[] = "the recorder puts its memory into the output folder instead";
	struct statvfs system;

	(void)doctor;
	if (statvfs("/dev/shm", &system) || access("/dev/shm", W_OK | X_OK)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING, "/dev/shm: %s; %s", strerror(errno),
			instead);
		gmt_doctor_finding_advise(finding,
			"mount a tmpfs on /dev/shm that is writable for this user");
		return;
	}
	if (is_taken()) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"/dev/shm/gpumemtrace-%u is accessible to other users; %s", (unsigned)geteuid(),
			instead);
		gmt_doctor_finding_advise(finding, "remove it");
		return;
	}

	uint64_t bytes = free_bytes(&system);
	if (bytes < SHARED_RECORDING_MIB * MIB)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING, "%s free; %s",
			gmt_text_size(bytes).text, instead);
	else if (bytes < SHARED_RECORDING_SCARCE_MIB * MIB)
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"%s free; each thread that calls CUDA needs 1 MiB", gmt_text_size(bytes).text);
	else
		gmt_doctor_finding_set(finding, GMT_FINDING_OK, "%s free", gmt_text_size(bytes).text);
}

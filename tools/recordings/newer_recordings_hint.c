/* SPDX-License-Identifier: MIT */
#include "tools/recordings/newer_recordings_hint.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "system/recording_name.h"
#include "base/text.h"
#include "tools/output/message.h"
#include "tools/recordings/file_age.h"

/*
 * The recorder numbers recordings without gaps. But the user may have removed some files since, so
 * the search continues after a missing number.
 */
enum {
	MAX_NUMBER = 10000,
	MAX_MISSING = 8, /* the search ends after this many missing files in a row */
};

/* The recordings that are newer than a given file. */
struct newer {
	uint64_t count;
	struct stat status;  /* of the newest recording */
	char path[PATH_MAX]; /* of the newest recording, if count is not 0 */
};

/*
 * Counts the recordings with the name `path` and a number (train.1.gmt.gz for train.gmt.gz) that
 * were changed after `path`, and finds the newest. `own` is the status of `path`.
 */
static void find_newer(const char *path, const struct stat *own, struct newer *ret_newer)
{
	char name[PATH_MAX];
	struct stat status;

	ret_newer->count = 0;
	ret_newer->status = *own;
	for (uint32_t number = 1, missing = 0; number <= MAX_NUMBER && missing < MAX_MISSING;
		number++) {
		if ((size_t)snprintf(name, sizeof(name), "%s", path) >= sizeof(name) ||
			!gmt_recording_name_number(name, sizeof(name), number))
			return;
		if (stat(name, &status) || !S_ISREG(status.st_mode)) {
			missing++;
			continue;
		}
		missing = 0;
		if (!gmt_file_is_newer(&status, own))
			continue;
		ret_newer->count++;
		if (gmt_file_is_newer(&status, &ret_newer->status)) {
			ret_newer->status = status;
			snprintf(ret_newer->path, sizeof(ret_newer->path), "%s", name);
		}
	}
}

/* Returns whether the file is one of `paths`, perhaps under another name. */
static bool is_among(const struct stat *file, char *const *paths, size_t count)
{
	struct stat status;

	for (size_t i = 0; i < count; i++)
		if (!stat(paths[i], &status) && status.st_dev == file->st_dev &&
			status.st_ino == file->st_ino)
			return true;
	return false;
}

void gmt_newer_recordings_hint(char *const *paths, size_t count)
{
	static struct newer newer; /* static: large for a stack */
	struct stat own;

	for (size_t i = 0; i < count; i++) {
		if (stat(paths[i], &own) || !S_ISREG(own.st_mode))
			continue;
		find_newer(paths[i], &own, &newer);
		if (newer.count && !is_among(&newer.status, paths, count))
			gmt_message_hint("%s: %s newer recording%s of this name; the newest is %s", paths[i],
				gmt_text_count(newer.count).text, newer.count == 1 ? "" : "s", newer.path);
	}
}

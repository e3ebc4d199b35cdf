/* SPDX-License-Identifier: MIT */
#include "tools/recordings/newer_recordings.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "system/recording_name.h"
#include "base/text.h"
#include "tools/output/message.h"

/* The recorder takes the first free number. Some of the files may have been removed since. */
enum { MAX_NUMBERS = 10000, MAX_GAP = 8 };

struct newest {
	uint64_t count;
	struct stat about;
	char path[PATH_MAX];
};

static bool is_later(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
												  : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

static void find(const char *path, const struct stat *own, struct newest *ret_newest)
{
	char name[PATH_MAX];
	struct stat about;

	ret_newest->count = 0;
	ret_newest->about = *own;
	for (uint32_t number = 1, missing = 0; number <= MAX_NUMBERS && missing < MAX_GAP; number++) {
		if ((size_t)snprintf(name, sizeof(name), "%s", path) >= sizeof(name) ||
			!gmt_recording_name_number(name, sizeof(name), number))
			return;
		if (stat(name, &about) || !S_ISREG(about.st_mode)) {
			missing++;
			continue;
		}
		missing = 0;
		if (!is_later(&about, own))
			continue;
		ret_newest->count++;
		if (is_later(&about, &ret_newest->about)) {
			ret_newest->about = about;
			snprintf(ret_newest->path, sizeof(ret_newest->path), "%s", name);
		}
	}
}

static bool is_among(const struct stat *file, char *const *paths, size_t count)
{
	struct stat about;

	for (size_t i = 0; i < count; i++)
		if (!stat(paths[i], &about) && about.st_dev == file->st_dev && about.st_ino == file->st_ino)
			return true;
	return false;
}

void gmt_newer_report(char *const *paths, size_t count)
{
	static struct newest newest;
	struct stat own;

	for (size_t i = 0; i < count; i++) {
		if (stat(paths[i], &own) || !S_ISREG(own.st_mode))
			continue;
		find(paths[i], &own, &newest);
		if (newest.count && !is_among(&newest.about, paths, count))
			gmt_message_hint("%s: %s newer recording%s of this name; the newest is %s", paths[i],
				gmt_text_count(newest.count).text, newest.count == 1 ? "" : "s", newest.path);
	}
}

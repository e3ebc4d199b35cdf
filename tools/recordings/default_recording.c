/* SPDX-License-Identifier: MIT */
#include "tools/recordings/default_recording.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "system/recording_name.h"
#include "tools/output/message.h"
#include "tools/recordings/file_age.h"

enum { MAX_FILES = 100000 }; /* that are looked at, so that a large folder does not take too long */

/* Writes the name of the newest recording, or "". */
static void find_newest(char *ret_name, size_t size)
{
	DIR *folder = opendir(".");
	struct stat newest = { 0 };
	const struct dirent *entry;

	*ret_name = 0;
	for (int i = 0; folder && i < MAX_FILES && (entry = readdir(folder)); i++) {
		struct stat status;

		if (!gmt_recording_name_matches(entry->d_name) || stat(entry->d_name, &status) ||
			!S_ISREG(status.st_mode) || (*ret_name && !gmt_file_is_newer(&status, &newest)))
			continue;
		newest = status;
		snprintf(ret_name, size, "%s", entry->d_name);
	}
	if (folder)
		closedir(folder);
}

bool gmt_default_recording(const char *verb, int *argc, char **argv)
{
	/* "./": a name may begin with '-'. */
	static char path[NAME_MAX + 3] = "./";

	if (*argc)
		return true;
	find_newest(path + 2, sizeof(path) - 2);
	if (!path[2]) {
		gmt_message_error("%s: no recording is given, and this folder has none", verb);
		gmt_message_hint("a recording is named gpumemtrace.*.gmt.gz by default");
		return false;
	}
	*argc = 1;
	argv[0] = path[2] == '-' ? path : path + 2;
	gmt_message_hint("no recording is given: this is %s, the newest of this folder", path + 2);
	return true;
}

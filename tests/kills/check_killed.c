/* SPDX-License-Identifier: MIT */
/*
 * check_killed SNAPSHOT LOG [stopped|cut]: whether the snapshot has what the program itself noted down (kept_check.h).
 * Prints what is wrong, or the count of events.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "kept_check.h"

int main(int argc, char **argv)
{
	enum kept_how how = argc <= 3 ? KEPT_WHOLE : strcmp(argv[3], "cut") ? KEPT_STOPPED : KEPT_CUT;
	struct gmt_snapshot *snapshot;
	struct gmt_error error = { 0 };
	int fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;

	if (fd < 0 || gmt_snapshot_load(argv[1], NULL, &snapshot, &error)) {
		puts(error.text);
		return 2;
	}
	struct kept_log *kept = mmap(NULL, sizeof(*kept), PROT_READ, MAP_SHARED, fd, 0);
	if (kept == MAP_FAILED)
		return 2;
	if (kept_check(snapshot, kept, how))
		return 1;
	printf("%zu\n", snapshot->events.count);
	return 0;
}

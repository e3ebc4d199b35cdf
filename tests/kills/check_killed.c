/* SPDX-License-Identifier: MIT */
/*
 * check_killed RECORDING LOG whole|stopped|cut [TID=PUBLISHED ...]: compares the recording with the
 * log that the program wrote (compare_with_log.h). Prints the first difference, or the count of
 * events. For a compacted recording it also prints how many events are only in totals.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "compare_with_log.h"

static bool read_published(char **arguments, const struct call_log *call_log,
	uint64_t ret_published[LOGGED_THREADS])
{
	for (; *arguments; arguments++) {
		uint64_t published;
		uint32_t tid;
		size_t i = 0;

		if (sscanf(*arguments, "%" SCNu32 "=%" SCNu64, &tid, &published) != 2)
			return false;
		while (i < LOGGED_THREADS && call_log->threads[i].tid != tid)
			i++;
		if (i < LOGGED_THREADS)
			ret_published[i] = published;
	}
	return true;
}

int main(int argc, char **argv)
{
	enum log_coverage coverage = argc <= 3 || !strcmp(argv[3], "whole") ? HAS_ALL_CALLS
		: strcmp(argv[3], "cut")                                        ? MAY_STOP_EARLY
																		: MAY_BE_CUT;
	uint64_t published[LOGGED_THREADS] = { 0 };
	struct gmt_recording *recording;
	struct gmt_error error = { 0 };
	int fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;

	if (fd < 0 || gmt_recording_load(argv[1], NULL, &recording, &error)) {
		puts(error.text);
		return 2;
	}
	struct call_log *call_log = mmap(NULL, sizeof(*call_log), PROT_READ, MAP_SHARED, fd, 0);
	if (call_log == MAP_FAILED || (argc > 4 && !read_published(argv + 4, call_log, published)))
		return 2;
	if (compare_with_log(recording, call_log, coverage, argc > 4 ? published : NULL))
		return 1;
	printf("%zu", recording->events.count);
	if (recording->compacted.exists)
		printf(" %" PRIu64, gmt_recording_compacted_events(recording));
	putchar('\n');
	return 0;
}

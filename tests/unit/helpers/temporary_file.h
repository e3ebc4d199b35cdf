/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_TEMPORARY_FILE_H
#define GMT_TESTS_TEMPORARY_FILE_H

/* A file for each test: created before the test and removed after it. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static inline int path_setup(void **state)
{
	(void)state;
	strcpy(path, "/tmp/gmt-test-XXXXXX");

	int fd = mkstemp(path);
	close(fd);
	return fd < 0;
}

static inline int path_teardown(void **state)
{
	(void)state;
	return unlink(path);
}

#endif

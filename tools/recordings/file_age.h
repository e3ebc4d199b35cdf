/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_FILE_AGE_H
#define GMT_TOOLS_RECORDINGS_FILE_AGE_H

#include <stdbool.h>
#include <sys/stat.h>

/* Returns whether file `a` was modified after file `b`. */
static inline bool gmt_file_is_newer(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
												  : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

#endif

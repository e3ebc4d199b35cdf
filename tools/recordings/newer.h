/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_NEWER_H
#define GMT_TOOLS_RECORDINGS_NEWER_H

#include <stddef.h>

/*
 * Says in a hint when a file of `paths` has newer recordings beside it, which got a number because its name was taken:
 * train.1.gmt.gz beside train.gmt.gz. Silent when the newest is one of `paths` too. Looks at names and times only,
 * and at some thousand files at most.
 */
void gmt_newer_report(char *const *paths, size_t count);

#endif

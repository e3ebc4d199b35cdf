/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_NSIGHT_IMPORT_H
#define GMT_TOOLS_IMPORT_NSIGHT_IMPORT_H

#include "base/status.h"
#include "import/import_writer.h"

/*
 * Makes a recording from an SQLite file of Nsight Systems (`nsys export --type=sqlite`). `pid`
 * chooses a process; 0: the only process with memory. Ignores `tool`, `pid` and `start_time_ns` of
 * `options`.
 */
enum gmt_status gmt_nsight_import(const char *path, uint64_t pid,
	const struct gmt_import_options *options, struct gmt_error *error);

#endif

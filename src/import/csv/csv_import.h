/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_CSV_CSV_IMPORT_H
#define GMT_IMPORT_CSV_CSV_IMPORT_H

/* Makes a recording of a log of allocations: comma-separated values with a header. */

#include "base/status.h"
#include "import/import_writer.h"

/* Returns whether the bytes may be such a log: their first line is text with a comma. */
bool gmt_csv_is_log(const void *bytes, size_t length);

/*
 * Writes the recording. The `tool` and `start_time_ns` of `options` are ignored. Returns GMT_FORMAT
 * with the number of the line, GMT_NO_MEMORY, or GMT_WRITE if options->write returned false.
 */
enum gmt_status gmt_csv_import(const void *bytes, size_t length,
	const struct gmt_import_options *options, struct gmt_error *error);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_EXPORT_EXPORT_FILE_H
#define GMT_TOOLS_EXPORT_EXPORT_FILE_H

/* One recording as one file for a viewer of another project (src/render/export). */

#include "render/export/export.h"
#include "tools/export/export_options.h"

/*
 * Returns whether the options fit together and to the format. If not, prints an error of `verb`:
 * one line.
 */
bool gmt_export_options_check(const struct gmt_export_options *options, const char *verb,
	const struct gmt_export_format_info *format);

/* Reads the value of --device: an ordinal, or `host`. */
bool gmt_export_device_parse(const char *text, int32_t *ret_device);

/*
 * Loads the recording, and calls format->write with `file` and `user`, for a verb that is no form
 * of `export`. Returns an exit code.
 */
int gmt_export_show(const struct gmt_export_options *options,
	const struct gmt_export_format_info *format, const void *user, const char *path, FILE *file);

/* Writes the file. Returns an exit code. Prints the file's name, unless the file is stdout. */
int gmt_export_file(const struct gmt_export_options *options, const char *path);

#endif

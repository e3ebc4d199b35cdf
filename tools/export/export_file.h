/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_EXPORT_EXPORT_FILE_H
#define GMT_TOOLS_EXPORT_EXPORT_FILE_H

/* One recording as one file for a viewer of another project (src/render/export). */

#include "tools/export/export_options.h"

/*
 * Returns whether the options fit together and to their format. If not, prints an error: one line.
 */
bool gmt_export_options_check(const struct gmt_export_options *options);

/* Reads the value of --device: an ordinal, or `host`. */
bool gmt_export_device_parse(const char *text, int32_t *ret_device);

/* Writes the file. Returns an exit code. Prints the file's name, unless the file is stdout. */
int gmt_export_file(const struct gmt_export_options *options, const char *path);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_EXPORT_EXPORT_DATABASE_H
#define GMT_TOOLS_EXPORT_EXPORT_DATABASE_H

#include "tools/export/export_options.h"

/*
 * Writes the tables of recordings, and of those in folders, into one file of SQLite. Prints errors,
 * and where the file is. Returns the exit code.
 */
int gmt_export_database(const struct gmt_export_options *options, int count, char **operands);

#endif

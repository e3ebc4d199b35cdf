/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_EXPORT_EXPORT_TABLES_H
#define GMT_TOOLS_EXPORT_EXPORT_TABLES_H

/*
 * Tables as files of data engines. The Python package writes them, with pyarrow: this starts the
 * package in a Python.
 */

#include "tools/export/export_options.h"

/*
 * Replaces the process by the Python that writes the tables of these recordings. Returns an exit
 * code after an error message.
 */
int gmt_export_tables(const struct gmt_export_options *options, int count, char **paths);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_TEXT_DUMP_H
#define GMT_RENDER_TEXT_DUMP_H

#include <stdio.h>

#include "format/format.h"

/*
 * Writes one row of any record as one line, as described in records.def: `name field=value ...`.
 * Strings are in quotes with C escapes, lists are [1,2]. The values are not interpreted.
 */
void gmt_dump_text(FILE *file, const struct gmt_record_info *record, const void *row);

/* Writes the row as one JSON object: {"record":"name","field":value,...}. */
void gmt_dump_json(FILE *file, const struct gmt_record_info *record, const void *row);

#endif

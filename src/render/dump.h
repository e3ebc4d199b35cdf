/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_DUMP_H
#define GMT_RENDER_DUMP_H

#include <stdio.h>

#include "format/format.h"

/*
 * One row of any record as one line, straight from records.def: `name field=value ...`, strings in
 * quotes with C escapes, lists as [1,2]. Nothing is interpreted.
 */
void gmt_dump_text(FILE *file, const struct gmt_record_info *record, const void *row);

/* The same as one JSON object: {"record":"name","field":value,...}. */
void gmt_dump_json(FILE *file, const struct gmt_record_info *record, const void *row);

#endif

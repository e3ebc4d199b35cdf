/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_MODULE_CALL_MARKS_H
#define GMT_TOOLS_PIPELINE_MODULE_CALL_MARKS_H

#include "containers/vec.h"
#include "format/format.h"

/* Marks for the compaction. */
struct gmt_module_call_marks {
	GMT_VEC(struct gmt_mark) marks;
};

/*
 * Detects the ends of module calls in the events of a recording, as reports do. Reports cannot
 * detect them in a compacted recording, so the compaction stores them as marks. Adds no marks if
 * the recording's own marks define steps, or if the calls cannot be detected. Also adds no marks if
 * a part of the recording was compacted before, or if `path` is no regular file.
 */
void gmt_module_call_marks_detect(struct gmt_module_call_marks *ret_marks, const char *path);

void gmt_module_call_marks_fini(struct gmt_module_call_marks *call_marks);

#endif

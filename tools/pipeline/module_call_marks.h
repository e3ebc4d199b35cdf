/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_MODULE_CALL_MARKS_H
#define GMT_TOOLS_PIPELINE_MODULE_CALL_MARKS_H

#include "containers/vec.h"
#include "format/format.h"

/* Marks at the ends of module calls, for the compaction. */
struct gmt_module_call_marks {
	GMT_VEC(struct gmt_mark) marks;
};

/*
 * Detects the ends of module calls in the events of a recording, as reports do. Reports cannot
 * detect them in a compacted recording, so the compaction stores them as marks. Adds no marks in
 * these cases: the recording's own marks define steps, the calls cannot be detected, a part of the
 * recording was compacted before, or `path` is not a regular file.
 */
void gmt_module_call_marks_detect(struct gmt_module_call_marks *ret_marks, const char *path);

void gmt_module_call_marks_fini(struct gmt_module_call_marks *call_marks);

#endif

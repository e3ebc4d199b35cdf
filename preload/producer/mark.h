/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_MARK_H
#define GMT_PRODUCER_MARK_H

/*
 * A mark of the calling thread: a step ended, a phase begins or ends (format/mark_kinds.def). In the
 * flow: observers of the program -> mark -> ring. Any thread, any time; does what a hook may do.
 */

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

enum { GMT_MARK_NAME_BYTES = 255 }; /* longer names are cut */

/*
 * `name` (may be NULL) is copied. Where nothing is recorded yet, this does nothing: marks do not begin
 * a recording.
 */
void gmt_mark(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object);

/* Likewise for what happened at `stamp`. */
void gmt_mark_at(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object, uint64_t stamp);

/* Likewise, when the thread is in the recorder already (producer/record_event.h). */
void gmt_mark_in_recorder(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object, uint64_t stamp);

/* How much of a name is kept: GMT_MARK_NAME_BYTES at most, whole characters of UTF-8. */
size_t gmt_mark_name_length(const char *name, size_t length);

#endif

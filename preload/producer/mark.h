/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_MARK_H
#define GMT_PRODUCER_MARK_H

/*
 * Records marks of the calling thread: a step ended, a phase begins or ends
 * (format/mark_kinds.def). In the flow: preload/marks -> mark -> ring. Any thread, any time. Like a
 * hook, it takes no lock and calls no malloc.
 */

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

enum { GMT_MARK_NAME_BYTES = 255 }; /* longer names are cut */

/*
 * Records a mark. Copies `name`, which may be NULL. Does nothing before a recording has begun:
 * marks do not begin a recording.
 */
void gmt_mark(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object);

/* Same as above, with the given stamp. */
void gmt_mark_at(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name,
	size_t length, uint64_t object, uint64_t stamp);

/* Same as above, for a thread that is already in the recorder (producer/event.h). */
void gmt_mark_in_recorder(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name,
	size_t length, uint64_t object, uint64_t stamp);

/*
 * Returns how many bytes of a name are kept: at most GMT_MARK_NAME_BYTES, and only whole UTF-8
 * characters.
 */
size_t gmt_mark_name_length(const char *name, size_t length);

#endif

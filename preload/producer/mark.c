/* SPDX-License-Identifier: MIT */
#include "producer/mark.h"

#include "base/text.h"
#include "producer/clock.h"
#include "producer/event.h"
#include "producer/thread_ring.h"
#include "producer/session_state.h"

size_t gmt_mark_name_length(const char *name, size_t length)
{
	return name ? gmt_text_cut_length(name, length, GMT_MARK_NAME_BYTES) : 0;
}

static struct gmt_ring_event event_of(enum gmt_mark_kind kind, enum gmt_mark_source source,
	const char *name, size_t length, uint64_t object, uint64_t stamp)
{
	struct gmt_depot *depot = gmt_session_ensure_depot();
	struct gmt_ring_event event = {
		.stamp = stamp,
		.address = object,
		.kind = GMT_RING_MARK,
		.layer = (uint8_t)kind,
		.space = (uint8_t)source,
	};

	length = gmt_mark_name_length(name, length);
	if (depot && length)
		event.stack = gmt_depot_intern(depot, GMT_DEPOT_NAME, name, (uint32_t)length);
	return event;
}

void gmt_mark_in_recorder(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name,
	size_t length, uint64_t object, uint64_t stamp)
{
	struct gmt_ring_event event = event_of(kind, source, name, length, object, stamp);

	gmt_thread_ring_push(&event);
}

void gmt_mark_at(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name,
	size_t length, uint64_t object, uint64_t stamp)
{
	if (!gmt_session_is_on() || !gmt_event_begin())
		return;

	struct gmt_ring_event event = event_of(kind, source, name, length, object, stamp);
	gmt_event_end(&event, 1);
}

void gmt_mark(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object)
{
	if (gmt_session_is_on())
		gmt_mark_at(kind, source, name, length, object, gmt_clock_stamp());
}

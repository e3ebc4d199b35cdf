/* SPDX-License-Identifier: MIT */
#include "record/mark.h"

#include "record/clock.h"
#include "record/commit.h"
#include "record/session.h"

void gmt_mark(enum gmt_mark_kind kind, enum gmt_mark_source source, const char *name, size_t length,
	uint64_t object)
{
	struct gmt_ring_event event = {
		.address = object,
		.kind = GMT_RING_MARK,
		.layer = (uint8_t)kind,
		.space = (uint8_t)source,
	};

	if (!gmt_session_is_on() || !gmt_commit_begin())
		return;
	event.stamp = gmt_clock_stamp();

	struct gmt_depot *depot = gmt_session_depot();
	if (depot && name && length)
		event.stack = gmt_depot_intern(depot, GMT_DEPOT_NAME, name,
			(uint32_t)(length < GMT_MARK_NAME_BYTES ? length : GMT_MARK_NAME_BYTES));
	gmt_commit_end(&event, false);
}

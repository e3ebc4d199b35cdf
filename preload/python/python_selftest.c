/* SPDX-License-Identifier: MIT */
#include "python/python_selftest.h"

#include <stddef.h>
#include <string.h>

#include "python/python_code.h"
#include "unwind/selftest.h"

uint32_t gmt_python_selftest_every;

static struct gmt_selftest selftest;

static const void *entry_of(const struct gmt_depot *depot, uint32_t id, uint32_t *ret_length)
{
	const struct gmt_depot_entry *entry = gmt_depot_get(depot, id);

	*ret_length = entry->length;
	return entry + 1;
}

/* Compares the content, because two threads that add an entry at the same moment add it twice. */
static bool is_same_code(const struct gmt_depot *depot, uint32_t a, uint32_t b)
{
	uint32_t a_bytes, b_bytes;
	const void *a_code = entry_of(depot, a, &a_bytes), *b_code = entry_of(depot, b, &b_bytes);

	return a == b || (a_bytes == b_bytes && memcmp(a_code, b_code, a_bytes) == 0);
}

static bool is_same_frame(const struct gmt_depot *depot, uint32_t a, uint32_t b)
{
	uint32_t bytes;
	const struct gmt_depot_frame *a_frame = entry_of(depot, a, &bytes),
								 *b_frame = entry_of(depot, b, &bytes);

	return a == b ||
		(a_frame->line == b_frame->line && is_same_code(depot, a_frame->code, b_frame->code));
}

/*
 * Returns the frame where the outermost `count` frames from `frame` on begin; NULL if there are not
 * more than `count` frames.
 */
static const char *skip_to_outermost(const struct gmt_python_layout *layout, const char *frame,
	uint32_t count)
{
	const char *rest = frame;
	struct gmt_python_walked_frame walked;
	uint32_t total = 0;

	while (gmt_python_walk_next(layout, &rest, &walked))
		total++;
	if (total <= count)
		return NULL;
	for (; total > count; total--)
		gmt_python_walk_next(layout, &frame, &walked);
	return frame;
}

enum answer { SAME, DIFFERENT, NO_ROOM };

static enum answer compare(const struct gmt_python_layout *layout, const char *frame,
	struct gmt_depot *depot, uint32_t depth, uint32_t id)
{
	uint32_t bytes, count, at = 0;
	const struct gmt_depot_frames *stack = entry_of(depot, id, &bytes);
	struct gmt_python_walked_frame walked;

	count = (bytes - (uint32_t)offsetof(struct gmt_depot_frames, items)) /
		(uint32_t)sizeof(stack->items[0]);
	for (; at < count; at++) {
		if (!stack->items[at]) {
			frame = skip_to_outermost(layout, frame, count - at - 1);
			if (!frame || count != depth)
				return DIFFERENT;
			continue;
		}
		if (!gmt_python_walk_next(layout, &frame, &walked))
			break;

		uint32_t fresh = gmt_python_code_intern(layout, depot, &walked);

		if (!fresh)
			return NO_ROOM;
		if (!is_same_frame(depot, fresh, stack->items[at] >> 1) ||
			(stack->items[at] & 1) != walked.is_entry)
			return DIFFERENT;
	}

	bool is_more = gmt_python_walk_next(layout, &frame, &walked);

	return at == count && is_more == (stack->truncated != 0) && (!is_more || count == depth)
		? SAME
		: DIFFERENT;
}

void gmt_python_selftest_compare(const struct gmt_python_layout *layout, const char *thread,
	struct gmt_depot *depot, uint32_t depth, uint32_t id)
{
	enum answer answer = compare(layout, gmt_python_walk_start(layout, thread), depot, depth, id);

	if (answer != NO_ROOM)
		gmt_selftest_count(&selftest, answer == DIFFERENT);
}

bool gmt_python_selftest(char *ret_text, uint32_t bytes)
{
	return gmt_selftest_report(&selftest,
		"Python stacks were compared with the interpreter's frames", ret_text, bytes);
}

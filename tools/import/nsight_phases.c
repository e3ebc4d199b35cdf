/* SPDX-License-Identifier: MIT */
#include "tools/import/nsight_phases.h"

#include <stdlib.h>

enum { TYPE_MARK = 34, TYPE_PUSH_POP = 59 };

/*
 * The beginning or the end of a range. At equal times, ends come before beginnings, except for a
 * range without length. Of several beginnings, the longest range comes first.
 */
struct moment {
	int64_t time_ns, length_ns;
	size_t range;
	uint8_t place; /* 0: an end, 1: a beginning, 2: the end of a range without length */
};

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->place == 1 && a->length_ns != b->length_ns)
		return a->length_ns > b->length_ns ? -1 : 1;
	return a->range < b->range ? -1 : a->range > b->range;
}

static bool write_moment(struct gmt_nsight_writer *writer, const struct moment *moment)
{
	const struct gmt_nsight_range *range = &writer->rows.ranges.items[moment->range];
	struct gmt_mark mark = {
		.stamp = gmt_nsight_stamp(writer, moment->time_ns),
		.source = GMT_MARK_SOURCE_NVTX,
	};

	if (range->type == TYPE_MARK)
		mark.kind = GMT_MARK_KIND_POINT;
	else if (range->type == TYPE_PUSH_POP)
		mark.kind = moment->place == 1 ? GMT_MARK_KIND_PUSH : GMT_MARK_KIND_POP;
	else
		mark.kind = moment->place == 1 ? GMT_MARK_KIND_START : GMT_MARK_KIND_STOP;
	/* Ranges of one thread nest in their domain. Other ranges have a number. */
	mark.object = range->type == TYPE_MARK || range->type == TYPE_PUSH_POP ? (uint64_t)range->domain
																		   : moment->range + 1;
	return gmt_nsight_thread(writer, range->thread, &mark.thread) &&
		(moment->place != 1 ||
			gmt_import_name(&writer->output, range->name, range->name_length, &mark.name)) &&
		gmt_import_mark(&writer->output, &mark);
}

bool gmt_nsight_write_phases(struct gmt_nsight_writer *writer)
{
	GMT_VEC(struct moment) moments = { 0 };
	bool done = true;

	for (size_t i = 0; done && i < writer->rows.ranges.count; i++) {
		const struct gmt_nsight_range *range = &writer->rows.ranges.items[i];
		bool has_end = range->type != TYPE_MARK && range->end_ns >= range->start_ns;
		int64_t length_ns =
			has_end ? (int64_t)((uint64_t)range->end_ns - (uint64_t)range->start_ns) : INT64_MAX;

		done = gmt_vec_reserve(&moments, 2);
		if (!done)
			break;
		moments.items[moments.count++] = (struct moment){ range->start_ns, length_ns, i, 1 };
		if (has_end)
			moments.items[moments.count++] =
				(struct moment){ range->end_ns, length_ns, i, length_ns ? 0 : 2 };
	}
	if (done && moments.count)
		qsort(moments.items, moments.count, sizeof(*moments.items), compare_moments);
	for (size_t i = 0; done && i < moments.count; i++)
		done = write_moment(writer, &moments.items[i]);
	gmt_vec_fini(&moments);
	return done;
}

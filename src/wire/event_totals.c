/* SPDX-License-Identifier: MIT */
#include "wire/event_totals.h"

#include <stdbool.h>

/* Wrapping arithmetic throughout: a damaged size must not be undefined behaviour. */
struct prediction {
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
};

static bool has_totals(const struct gmt_event *row)
{
	return row->layer == GMT_LAYER_TORCH;
}

static uint64_t predicted_allocated(const struct prediction *last, const struct gmt_event *row)
{
	if (row->kind == GMT_KIND_ALLOC)
		return last->allocated_bytes + row->size_bytes;
	if (row->kind == GMT_KIND_FREE)
		return last->allocated_bytes - row->size_bytes;
	return last->allocated_bytes;
}

void gmt_event_totals_to_differences(struct gmt_event *rows, uint32_t count)
{
	struct prediction last = { 0 };

	for (struct gmt_event *row = rows; row < rows + count; row++) {
		if (!has_totals(row))
			continue;

		struct prediction told = { (uint64_t)row->allocated_bytes, (uint64_t)row->reserved_bytes };
		row->allocated_bytes = (int64_t)(told.allocated_bytes - predicted_allocated(&last, row));
		row->reserved_bytes = (int64_t)(told.reserved_bytes - last.reserved_bytes);
		last = told;
	}
}

void gmt_event_totals_from_differences(struct gmt_event *rows, uint32_t count)
{
	struct prediction last = { 0 };

	for (struct gmt_event *row = rows; row < rows + count; row++) {
		if (!has_totals(row))
			continue;
		last.allocated_bytes = predicted_allocated(&last, row) + (uint64_t)row->allocated_bytes;
		last.reserved_bytes += (uint64_t)row->reserved_bytes;
		row->allocated_bytes = (int64_t)last.allocated_bytes;
		row->reserved_bytes = (int64_t)last.reserved_bytes;
	}
}

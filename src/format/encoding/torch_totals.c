/* SPDX-License-Identifier: MIT */
#include "format/encoding/torch_totals.h"

#include <stdbool.h>

/* All arithmetic is unsigned and may wrap: a damaged size must not cause undefined behaviour. */
struct prediction {
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
};

static bool has_totals(const struct gmt_event *row)
{
	return row->layer == GMT_LAYER_TORCH;
}

static uint64_t predicted_allocated(const struct prediction *last, unsigned kind,
	uint64_t size_bytes)
{
	if (kind == GMT_KIND_ALLOC)
		return last->allocated_bytes + size_bytes;
	if (kind == GMT_KIND_FREE)
		return last->allocated_bytes - size_bytes;
	return last->allocated_bytes;
}

void gmt_torch_totals_to_differences(struct gmt_event *rows, uint32_t count)
{
	struct prediction last = { 0 };

	for (struct gmt_event *row = rows; row < rows + count; row++) {
		if (!has_totals(row))
			continue;

		struct prediction reported = { (uint64_t)row->allocated_bytes,
			(uint64_t)row->reserved_bytes };
		row->allocated_bytes = (int64_t)(reported.allocated_bytes -
			predicted_allocated(&last, row->kind, row->size_bytes));
		row->reserved_bytes = (int64_t)(reported.reserved_bytes - last.reserved_bytes);
		last = reported;
	}
}

void gmt_torch_totals_from_differences(struct gmt_event *rows, uint32_t count)
{
	struct prediction last = { 0 };

	for (struct gmt_event *row = rows; row < rows + count; row++) {
		if (!has_totals(row))
			continue;
		last.allocated_bytes =
			predicted_allocated(&last, row->kind, row->size_bytes) + (uint64_t)row->allocated_bytes;
		last.reserved_bytes += (uint64_t)row->reserved_bytes;
		row->allocated_bytes = (int64_t)last.allocated_bytes;
		row->reserved_bytes = (int64_t)last.reserved_bytes;
	}
}

void gmt_torch_totals_in_columns(struct gmt_columns *columns)
{
	const struct gmt_cells *layer = &columns->cells[GMT_COLUMN_event_layer],
						   *kind = &columns->cells[GMT_COLUMN_event_kind],
						   *size = &columns->cells[GMT_COLUMN_event_size_bytes];
	struct prediction last = { 0 };
	uint64_t *allocated_bytes, *reserved_bytes;

	if (!layer->stride && *layer->values != GMT_LAYER_TORCH)
		return;
	/* The totals change from row to row even if the differences do not. */
	allocated_bytes = gmt_columns_expand(columns, GMT_COLUMN_event_allocated_bytes);
	reserved_bytes = gmt_columns_expand(columns, GMT_COLUMN_event_reserved_bytes);
	for (uint32_t i = 0; i < columns->count; i++) {
		if (gmt_cell(layer, i) != GMT_LAYER_TORCH)
			continue;
		last.allocated_bytes = allocated_bytes[i] +=
			predicted_allocated(&last, (unsigned)gmt_cell(kind, i), gmt_cell(size, i));
		last.reserved_bytes = reserved_bytes[i] += last.reserved_bytes;
	}
}

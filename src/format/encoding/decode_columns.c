/* SPDX-License-Identifier: MIT */
#include "format/encoding/decode_columns.h"

#include "format/encoding/decode_numbers.h"
#include "format/encoding/torch_totals.h"

/*
 * Decodes numbers of one byte each. Any cell can hold them, except sums of differences, which need
 * 64 bits.
 */
static void get_short(const struct gmt_cursor *column, uint32_t count, char encoding, uint64_t *to)
{
	uint64_t before = 0;

	if (encoding == GMT_ENCODING_UNSIGNED)
		for (uint32_t i = 0; i < count; i++)
			to[i] = column->at[i];
	else if (encoding == GMT_ENCODING_SIGNED)
		for (uint32_t i = 0; i < count; i++)
			to[i] = gmt_unzigzag(column->at[i]);
	else
		for (uint32_t i = 0; i < count; i++)
			to[i] = before += gmt_unzigzag(column->at[i]);
}

static inline __attribute__((always_inline)) bool get_long(struct gmt_cursor *column,
	uint32_t count, char encoding, uint32_t size_bytes, uint64_t *to)
{
	uint64_t value, before = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!gmt_number_next(column, encoding, size_bytes, &before, &value))
			return false;
		to[i] = value;
	}
	return column->at == column->end;
}

static bool get_numbers(const struct gmt_field_info *field, struct gmt_cursor column,
	uint32_t count, uint64_t *to)
{
	bool is_whole = field->size_bytes == sizeof(uint64_t);

	if ((is_whole || field->encoding != GMT_ENCODING_DELTA) &&
		gmt_numbers_are_short(&column, count)) {
		get_short(&column, count, field->encoding, to);
		return true;
	}
	switch (field->encoding) {
	case GMT_ENCODING_SIGNED:
		return get_long(&column, count, GMT_ENCODING_SIGNED, field->size_bytes, to);
	case GMT_ENCODING_DELTA:
		return is_whole ? get_long(&column, count, GMT_ENCODING_DELTA, sizeof(uint64_t), to)
						: get_long(&column, count, GMT_ENCODING_DELTA, field->size_bytes, to);
	default:
		return is_whole ? get_long(&column, count, GMT_ENCODING_UNSIGNED, sizeof(uint64_t), to)
						: get_long(&column, count, GMT_ENCODING_UNSIGNED, field->size_bytes, to);
	}
}

static bool decode_column(struct gmt_columns *columns, const struct gmt_field_info *field,
	uint32_t number, struct gmt_cursor column)
{
	uint32_t count = columns->count;
	uint64_t *to = columns->values.items + (size_t)number * count;

	/*
	 * If a 'D' column has the same difference in all rows, its values differ, unless the difference
	 * is 0.
	 */
	if (gmt_numbers_are_equal(&column, count, field->encoding == GMT_ENCODING_DELTA ? 1 : 0x80)) {
		columns->same[number] =
			field->encoding == GMT_ENCODING_UNSIGNED ? *column.at : gmt_unzigzag(*column.at);
		return true;
	}
	columns->cells[number] = (struct gmt_cells){ .values = to, .stride = 1 };
	return get_numbers(field, column, count, to);
}

enum gmt_status gmt_decode_columns(struct gmt_columns *columns, const struct gmt_block *block,
	struct gmt_error *error)
{
	const struct gmt_record_info *record = gmt_record_info(block->kind);
	struct gmt_cursor payload = { block->payload, block->payload + block->size_bytes };

	columns->values.count = 0;
	columns->count = block->rows;
	if (!gmt_vec_reserve(&columns->values, (size_t)record->field_count * block->rows))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	for (uint32_t f = 0; f < record->field_count; f++) {
		columns->same[f] = 0;
		columns->cells[f] = (struct gmt_cells){ .values = &columns->same[f] };
	}
	for (uint32_t f = 0; f < record->field_count && payload.at < payload.end; f++) {
		struct gmt_cursor column;

		if (!gmt_column_cut(&payload, &column) ||
			!decode_column(columns, &record->fields[f], f, column))
			return gmt_column_error(record, f, error);
	}
	if (block->kind == GMT_RECORD_EVENT)
		gmt_torch_totals_in_columns(columns);
	return GMT_OK;
}

void gmt_columns_fini(struct gmt_columns *columns)
{
	gmt_vec_fini(&columns->values);
}

/* SPDX-License-Identifier: MIT */
#include "format/encoding/decode_rows.h"

#include <string.h>

#include "format/encoding/decode_numbers.h"
#include "format/encoding/torch_totals.h"

static void store_integer(char *cell, uint32_t size_bytes, uint64_t value)
{
	switch (size_bytes) {
	case 1:
		*(uint8_t *)cell = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)cell = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)cell = (uint32_t)value;
		break;
	default:
		*(uint64_t *)cell = value;
	}
}

static bool get_slice(struct gmt_cursor *cursor, struct gmt_slice *ret_slice)
{
	uint64_t length;

	if (!gmt_varint_get(&cursor->at, cursor->end, &length) ||
		length > (uint64_t)(cursor->end - cursor->at))
		return false;
	*ret_slice = (struct gmt_slice){ .text = (const char *)cursor->at, .length = (uint32_t)length };
	cursor->at += length;
	return true;
}

/*
 * Appends the items to decoder->items, which may move while it grows. So the row holds the index of
 * its first item until all lists are read (fix_lists).
 */
static bool get_list(struct gmt_decoder *decoder, struct gmt_cursor *cursor,
	struct gmt_list *ret_list)
{
	uint64_t count, difference, item = 0;

	if (!gmt_varint_get(&cursor->at, cursor->end, &count) ||
		count > (uint64_t)(cursor->end - cursor->at) || !gmt_vec_reserve(&decoder->items, count))
		return false;
	*ret_list = (struct gmt_list){
		.items = (const uint64_t *)decoder->items.count,
		.count = (uint32_t)count,
	};
	for (uint64_t i = 0; i < count; i++) {
		if (!gmt_varint_get(&cursor->at, cursor->end, &difference))
			return false;
		item += gmt_unzigzag(difference);
		decoder->items.items[decoder->items.count++] = item;
	}
	return true;
}

static inline __attribute__((always_inline)) bool get_numbers(struct gmt_cursor *column, char *cell,
	size_t row_bytes, uint32_t count, char encoding, uint32_t size_bytes)
{
	uint64_t value, before = 0;

	for (uint32_t i = 0; i < count; i++, cell += row_bytes) {
		if (!gmt_number_next(column, encoding, size_bytes, &before, &value))
			return false;
		store_integer(cell, size_bytes, value);
	}
	return true;
}

static bool get_numbers_of(struct gmt_cursor *column, char *cell, size_t row_bytes, uint32_t count,
	const struct gmt_field_info *field)
{
#define CASES(encoding) \
	switch (field->size_bytes) { \
	case 1: \
		return get_numbers(column, cell, row_bytes, count, encoding, 1); \
	case 2: \
		return get_numbers(column, cell, row_bytes, count, encoding, 2); \
	case 4: \
		return get_numbers(column, cell, row_bytes, count, encoding, 4); \
	default: \
		return get_numbers(column, cell, row_bytes, count, encoding, 8); \
	}
	switch (field->encoding) {
	case GMT_ENCODING_SIGNED:
		CASES(GMT_ENCODING_SIGNED);
	case GMT_ENCODING_DELTA:
		CASES(GMT_ENCODING_DELTA);
	default:
		CASES(GMT_ENCODING_UNSIGNED);
	}
#undef CASES
}

static bool decode_column(struct gmt_decoder *decoder, const struct gmt_record_info *record,
	const struct gmt_field_info *field, struct gmt_cursor column, uint32_t count)
{
	char *cell = (char *)decoder->rows.items + field->offset;

	if (field->encoding == GMT_ENCODING_STRING) {
		for (uint32_t i = 0; i < count; i++, cell += record->row_bytes)
			if (!get_slice(&column, (struct gmt_slice *)cell))
				return false;
	} else if (field->encoding == GMT_ENCODING_LIST) {
		for (uint32_t i = 0; i < count; i++, cell += record->row_bytes)
			if (!get_list(decoder, &column, (struct gmt_list *)cell))
				return false;
	} else {
		/* Rows are zeroed before they are decoded. */
		return gmt_numbers_are_equal(&column, count, 1) ||
			(get_numbers_of(&column, cell, record->row_bytes, count, field) &&
				column.at == column.end);
	}
	return column.at == column.end;
}

/*
 * Sets the texts of the columns from `first` on, which the file does not have, to "". So readers
 * need not distinguish an empty text from a missing one.
 */
static void make_texts(struct gmt_decoder *decoder, const struct gmt_record_info *record,
	uint32_t first, uint32_t count)
{
	for (uint32_t f = first; f < record->field_count; f++) {
		if (record->fields[f].encoding != GMT_ENCODING_STRING)
			continue;
		char *cell = (char *)decoder->rows.items + record->fields[f].offset;
		for (uint32_t i = 0; i < count; i++, cell += record->row_bytes)
			((struct gmt_slice *)cell)->text = "";
	}
}

static void fix_lists(struct gmt_decoder *decoder, const struct gmt_record_info *record,
	uint32_t count)
{
	static const uint64_t none;

	for (uint32_t f = 0; f < record->field_count; f++) {
		if (record->fields[f].encoding != GMT_ENCODING_LIST)
			continue;
		char *cell = (char *)decoder->rows.items + record->fields[f].offset;
		for (uint32_t i = 0; i < count; i++, cell += record->row_bytes) {
			struct gmt_list *list = (struct gmt_list *)cell;

			list->items =
				decoder->items.items ? decoder->items.items + (uintptr_t)list->items : &none;
		}
	}
}

static bool make_rows(struct gmt_decoder *decoder, size_t bytes)
{
	size_t words = (bytes + 7) / 8;

	decoder->rows.count = 0;
	decoder->items.count = 0;
	if (!gmt_vec_reserve(&decoder->rows, words))
		return false;
	memset(decoder->rows.items, 0, words * 8);
	return true;
}

enum gmt_status gmt_decode_record(struct gmt_decoder *decoder, const struct gmt_record_info *record,
	const struct gmt_block *block, const void **ret_rows, struct gmt_error *error)
{
	struct gmt_cursor payload = { block->payload, block->payload + block->size_bytes };
	uint32_t f = 0;

	if (!make_rows(decoder, (size_t)record->row_bytes * block->rows))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	for (; f < record->field_count && payload.at < payload.end; f++) {
		struct gmt_cursor column;

		if (!gmt_column_cut(&payload, &column) ||
			!decode_column(decoder, record, &record->fields[f], column, block->rows))
			return gmt_column_error(record, f, error);
	}
	make_texts(decoder, record, f, block->rows);
	fix_lists(decoder, record, block->rows);
	if (block->kind == GMT_RECORD_EVENT)
		gmt_torch_totals_from_differences((struct gmt_event *)decoder->rows.items, block->rows);
	*ret_rows = decoder->rows.items;
	return GMT_OK;
}

enum gmt_status gmt_decode_rows(struct gmt_decoder *decoder, const struct gmt_block *block,
	const void **ret_rows, struct gmt_error *error)
{
	return gmt_decode_record(decoder, gmt_record_info(block->kind), block, ret_rows, error);
}

void gmt_decoder_fini(struct gmt_decoder *decoder)
{
	gmt_vec_fini(&decoder->rows);
	gmt_vec_fini(&decoder->items);
}

/* SPDX-License-Identifier: MIT */
#include "format/encoding/encode_rows.h"

#include <string.h>
#include <zlib.h>

#include "format/encoding/block.h"
#include "format/encoding/little_endian.h"
#include "format/encoding/varint.h"

void gmt_encode_file_header(uint8_t ret_bytes[GMT_FILE_HEADER_BYTES])
{
	memcpy(ret_bytes, GMT_FORMAT_MAGIC, 8);
	gmt_put_u16(ret_bytes + 8, GMT_FORMAT_MAJOR);
	gmt_put_u16(ret_bytes + 10, GMT_FORMAT_MINOR);
	gmt_put_u32(ret_bytes + 12, GMT_FEATURES_KNOWN);
	gmt_put_u32(ret_bytes + 16, (uint32_t)crc32(0, ret_bytes, 16));
}

/* Returns the maximum size of one row of a slice or list column. */
static size_t cell_max_bytes(const struct gmt_field_info *field, const char *cell)
{
	if (field->encoding == GMT_ENCODING_STRING)
		return GMT_VARINT_MAX_BYTES + ((const struct gmt_slice *)cell)->length;
	return GMT_VARINT_MAX_BYTES * (1 + (size_t)((const struct gmt_list *)cell)->count);
}

static uint8_t *put_slice(uint8_t *to, const struct gmt_slice *slice)
{
	to = gmt_varint_put(to, slice->length);
	if (slice->length)
		memcpy(to, slice->text, slice->length);
	return to + slice->length;
}

static uint8_t *put_list(uint8_t *to, const struct gmt_list *list)
{
	uint64_t before = 0;

	to = gmt_varint_put(to, list->count);
	for (uint32_t i = 0; i < list->count; i++) {
		to = gmt_varint_put(to, gmt_zigzag(list->items[i] - before));
		before = list->items[i];
	}
	return to;
}

/*
 * The compiler inlines this with a constant size and encoding, so a cell takes about eight
 * instructions.
 */
static inline __attribute__((always_inline)) uint8_t *put_known_numbers(uint8_t *to,
	const char *cell, size_t row_bytes, uint32_t count, uint16_t size_bytes, char encoding)
{
	const struct gmt_field_info field = { .encoding = encoding, .size_bytes = size_bytes };
	uint64_t before = 0;

	for (uint32_t i = 0; i < count; i++, cell += row_bytes) {
		uint64_t number = gmt_field_number(&field, cell), value = number;

		if (encoding == GMT_ENCODING_DELTA)
			value = gmt_zigzag(number - before);
		else if (encoding == GMT_ENCODING_SIGNED)
			value = gmt_zigzag(number);
		before = number;
		to = gmt_varint_put(to, value);
	}
	return to;
}

static uint8_t *put_numbers(uint8_t *to, const struct gmt_field_info *field, const char *cell,
	size_t row_bytes, uint32_t count)
{
	/* Only the sizes that fields really have get their own case. Other sizes would work too. */
#define CASES(bytes) \
	case (bytes) << 8 | GMT_ENCODING_UNSIGNED: \
		return put_known_numbers(to, cell, row_bytes, count, bytes, GMT_ENCODING_UNSIGNED); \
	case (bytes) << 8 | GMT_ENCODING_SIGNED: \
		return put_known_numbers(to, cell, row_bytes, count, bytes, GMT_ENCODING_SIGNED); \
	case (bytes) << 8 | GMT_ENCODING_DELTA: \
		return put_known_numbers(to, cell, row_bytes, count, bytes, GMT_ENCODING_DELTA);

	switch (field->size_bytes << 8 | field->encoding) {
		CASES(1)
		CASES(2)
		CASES(4)
	default:
		CASES(8)
	}
#undef CASES
}

/* Fills encoder->column. Returns false when out of memory. */
static bool encode_column(struct gmt_encoder *encoder, const struct gmt_record_info *record,
	const struct gmt_field_info *field, const char *rows, uint32_t count)
{
	const char *cell = rows + field->offset;
	bool is_slice = field->encoding == GMT_ENCODING_STRING;

	encoder->column.count = 0;
	if (!is_slice && field->encoding != GMT_ENCODING_LIST) {
		if (!gmt_vec_reserve(&encoder->column, (size_t)count * GMT_VARINT_MAX_BYTES))
			return false;
		encoder->column.count =
			(size_t)(put_numbers(encoder->column.items, field, cell, record->row_bytes, count) -
				encoder->column.items);
		return true;
	}
	for (uint32_t i = 0; i < count; i++, cell += record->row_bytes) {
		if (!gmt_vec_reserve(&encoder->column, cell_max_bytes(field, cell)))
			return false;

		uint8_t *to = encoder->column.items + encoder->column.count;
		to = is_slice ? put_slice(to, (const struct gmt_slice *)cell)
					  : put_list(to, (const struct gmt_list *)cell);
		encoder->column.count = (size_t)(to - encoder->column.items);
	}
	return true;
}

static bool append_column(struct gmt_encoder *encoder)
{
	if (!gmt_vec_reserve(&encoder->block, GMT_VARINT_MAX_BYTES + encoder->column.count))
		return false;

	uint8_t *to = encoder->block.items + encoder->block.count;
	to = gmt_varint_put(to, encoder->column.count);
	if (encoder->column.count)
		memcpy(to, encoder->column.items, encoder->column.count);
	encoder->block.count = (size_t)(to - encoder->block.items) + encoder->column.count;
	return true;
}

/*
 * Only compacted recordings use the last column of events. Readers read a missing column as zeros.
 */
static uint32_t used_fields(const struct gmt_record_info *record, const char *rows, uint32_t count)
{
	const struct gmt_field_info *last = &record->fields[record->field_count - 1];

	if (record->number != GMT_RECORD_EVENT)
		return record->field_count;
	for (uint32_t i = 0; i < count; i++)
		if (gmt_field_number(last, rows + (size_t)i * record->row_bytes + last->offset))
			return record->field_count;
	return record->field_count - 1;
}

enum gmt_status gmt_encode_record(struct gmt_encoder *encoder, const struct gmt_record_info *record,
	const void *rows, uint32_t count, struct gmt_error *error)
{
	encoder->block.count = 0;
	if (!gmt_vec_reserve(&encoder->block, GMT_BLOCK_HEADER_BYTES))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	encoder->block.count = GMT_BLOCK_HEADER_BYTES;

	uint32_t fields = used_fields(record, rows, count);
	for (uint32_t i = 0; i < fields; i++)
		if (!encode_column(encoder, record, &record->fields[i], rows, count) ||
			!append_column(encoder))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	if (count > GMT_BLOCK_MAX_ROWS ||
		encoder->block.count > GMT_BLOCK_HEADER_BYTES + GMT_BLOCK_MAX_BYTES)
		return gmt_error_set(error, GMT_WRITE, "too much for one block");

	const struct gmt_block block = {
		.kind = record->number,
		.rows = count,
		.size_bytes = (uint32_t)(encoder->block.count - GMT_BLOCK_HEADER_BYTES),
		.payload = encoder->block.items + GMT_BLOCK_HEADER_BYTES,
	};

	gmt_block_make_header(&block, encoder->block.items);
	return GMT_OK;
}

enum gmt_status gmt_encode_rows(struct gmt_encoder *encoder, uint32_t number, const void *rows,
	uint32_t count, struct gmt_error *error)
{
	return gmt_encode_record(encoder, gmt_record_info(number), rows, count, error);
}

void gmt_encoder_fini(struct gmt_encoder *encoder)
{
	gmt_vec_fini(&encoder->block);
	gmt_vec_fini(&encoder->column);
}

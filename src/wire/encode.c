/* SPDX-License-Identifier: MIT */
#include "wire/encode.h"

#include <endian.h>
#include <string.h>
#include <zlib.h>

#include "wire/varint.h"

static void put_u16(uint8_t *to, uint16_t value)
{
	value = htole16(value);
	memcpy(to, &value, sizeof(value));
}

static void put_u32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

void gmt_encode_file_header(uint8_t ret_bytes[GMT_FILE_HEADER_BYTES])
{
	memcpy(ret_bytes, GMT_FORMAT_MAGIC, 8);
	put_u16(ret_bytes + 8, GMT_FORMAT_MAJOR);
	put_u16(ret_bytes + 10, GMT_FORMAT_MINOR);
	put_u32(ret_bytes + 12, GMT_FEATURES_KNOWN);
	put_u32(ret_bytes + 16, (uint32_t)crc32(0, ret_bytes, 16));
}

static uint64_t load_integer(const char *at, uint32_t size_bytes, bool is_signed)
{
	switch (size_bytes) {
	case 1:
		return is_signed ? (uint64_t)*(const int8_t *)at : *(const uint8_t *)at;
	case 2:
		return is_signed ? (uint64_t)*(const int16_t *)at : *(const uint16_t *)at;
	case 4:
		return is_signed ? (uint64_t)*(const int32_t *)at : *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

/* The most bytes that one row of this column can take. */
static size_t cell_max_bytes(const struct gmt_field_info *field, const char *cell)
{
	if (field->encoding == 'S')
		return GMT_VARINT_MAX_BYTES + ((const struct gmt_slice *)cell)->length;
	if (field->encoding == 'L')
		return GMT_VARINT_MAX_BYTES * (1 + (size_t)((const struct gmt_list *)cell)->count);
	return GMT_VARINT_MAX_BYTES;
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

static uint8_t *put_cell(uint8_t *to, const struct gmt_field_info *field, const char *cell, uint64_t *before)
{
	uint64_t value;

	switch (field->encoding) {
	case 'S':
		return put_slice(to, (const struct gmt_slice *)cell);
	case 'L':
		return put_list(to, (const struct gmt_list *)cell);
	case 'D':
		value = load_integer(cell, field->size_bytes, false);
		to = gmt_varint_put(to, gmt_zigzag(value - *before));
		*before = value;
		return to;
	case 'I':
		return gmt_varint_put(to, gmt_zigzag(load_integer(cell, field->size_bytes, true)));
	default:
		return gmt_varint_put(to, load_integer(cell, field->size_bytes, false));
	}
}

/* Fills encoder->column; false when out of memory. */
static bool encode_column(struct gmt_encoder *encoder, const struct gmt_record_info *record,
	const struct gmt_field_info *field, const char *rows, uint32_t count)
{
	const char *cell = rows + field->offset;
	uint64_t before = 0;

	encoder->column.count = 0;
	for (uint32_t i = 0; i < count; i++, cell += record->row_bytes) {
		if (!gmt_vec_reserve(&encoder->column, cell_max_bytes(field, cell)))
			return false;

		uint8_t *to = encoder->column.items + encoder->column.count;
		encoder->column.count = (size_t)(put_cell(to, field, cell, &before) - encoder->column.items);
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

/* Only folded recordings have the last column of events: a column that a block lacks is zero. */
static uint32_t used_fields(const struct gmt_record_info *record, const char *rows, uint32_t count)
{
	const struct gmt_field_info *last = &record->fields[record->field_count - 1];

	if (record->number != GMT_RECORD_EVENT)
		return record->field_count;
	for (uint32_t i = 0; i < count; i++)
		if (load_integer(rows + (size_t)i * record->row_bytes + last->offset, last->size_bytes, false))
			return record->field_count;
	return record->field_count - 1;
}

enum gmt_status gmt_encode_rows(struct gmt_encoder *encoder, uint32_t number, const void *rows,
	uint32_t count, struct gmt_error *error)
{
	const struct gmt_record_info *record = gmt_record_info(number);

	encoder->block.count = 0;
	if (!gmt_vec_reserve(&encoder->block, GMT_BLOCK_HEADER_BYTES))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	encoder->block.count = GMT_BLOCK_HEADER_BYTES;

	uint32_t fields = used_fields(record, rows, count);
	for (uint32_t i = 0; i < fields; i++)
		if (!encode_column(encoder, record, &record->fields[i], rows, count) ||
			!append_column(encoder))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	if (count > GMT_BLOCK_MAX_ROWS || encoder->block.count > GMT_BLOCK_HEADER_BYTES + GMT_BLOCK_MAX_BYTES)
		return gmt_error_set(error, GMT_WRITE, "too much for one block");

	uint8_t *header = encoder->block.items;
	uint32_t payload_bytes = (uint32_t)(encoder->block.count - GMT_BLOCK_HEADER_BYTES);

	put_u32(header, number);
	put_u32(header + 4, count);
	put_u32(header + 8, payload_bytes);

	uLong crc = crc32(0, header, 12);
	crc = crc32(crc, header + GMT_BLOCK_HEADER_BYTES, payload_bytes);
	put_u32(header + 12, (uint32_t)crc);
	return GMT_OK;
}

void gmt_encoder_fini(struct gmt_encoder *encoder)
{
	gmt_vec_fini(&encoder->block);
	gmt_vec_fini(&encoder->column);
}

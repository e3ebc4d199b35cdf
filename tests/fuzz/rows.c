/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <string.h>

#include "format/encoding/summary_format.h"
#include "format/encoding/varint.h"

/* Reads the cell at *at, and moves *at to its end. */
static bool read_cell(char encoding, const uint8_t **at, const uint8_t *end,
	struct fuzz_cell *ret_cell)
{
	const uint8_t *start = *at;
	uint64_t value, item;

	if (!gmt_varint_get(at, end, &value))
		return false;
	if (encoding == GMT_ENCODING_STRING || encoding == GMT_ENCODING_LIST) {
		if (value > (uint64_t)(end - *at))
			return false;
		if (encoding == GMT_ENCODING_STRING)
			*at += value;
		else
			while (value--)
				if (!gmt_varint_get(at, end, &item))
					return false;
	}
	*ret_cell = (struct fuzz_cell){ start, (size_t)(*at - start) };
	return true;
}

bool fuzz_table_read(struct fuzz_table *ret_table, uint32_t kind, uint32_t rows,
	const uint8_t *payload, size_t size)
{
	const struct gmt_record_info *record = gmt_summary_record_info(kind);
	const uint8_t *at = payload, *end = payload + size;
	uint32_t column = 0;

	if (!record || !rows || rows > FUZZ_ROWS)
		return false;
	for (; column < record->field_count && at < end; column++) {
		uint64_t length;

		if (!gmt_varint_get(&at, end, &length) || length > (uint64_t)(end - at))
			return false;
		for (uint32_t row = 0; row < rows; row++)
			if (!read_cell(record->fields[column].encoding, &at, end,
					&ret_table->cells[row][column]))
				return false;
	}
	ret_table->record = record;
	ret_table->rows = rows;
	ret_table->columns = column;
	return column != 0;
}

size_t fuzz_table_write(const struct fuzz_table *table, uint8_t *ret_payload, size_t bytes)
{
	uint8_t *at = ret_payload;

	for (uint32_t column = 0; column < table->columns; column++) {
		size_t length = 0;

		for (uint32_t row = 0; row < table->rows; row++)
			length += table->cells[row][column].length;
		if (length + GMT_VARINT_MAX_BYTES > bytes - (size_t)(at - ret_payload))
			return 0;
		at = gmt_varint_put(at, length);
		for (uint32_t row = 0; row < table->rows; row++) {
			const struct fuzz_cell *cell = &table->cells[row][column];

			memcpy(at, cell->at, cell->length);
			at += cell->length;
		}
	}
	return (size_t)(at - ret_payload);
}

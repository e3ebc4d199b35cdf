/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the code behind `dump`. Prints each block that decodes. Encodes its rows and decodes them
 * again: they must be equal. A column decoded alone, and all number columns decoded together, must
 * hold the values of the rows. Printing takes most of the time, so a hash of the input selects a
 * quarter of the inputs for it.
 */
#include <stdlib.h>
#include <string.h>

#include "containers/map.h"
#include "content.h"
#include "output.h"
#include "render/text/dump.h"
#include "format/encoding/column_reader.h"
#include "format/encoding/decode_columns.h"
#include "format/encoding/decode_rows.h"
#include "format/encoding/encode_rows.h"
#include "format/encoding/torch_totals.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_equal(const struct gmt_field_info *field, const char *one, const char *other)
{
	const struct gmt_slice *slice = (const struct gmt_slice *)one,
						   *other_slice = (const struct gmt_slice *)other;
	const struct gmt_list *list = (const struct gmt_list *)one,
						  *other_list = (const struct gmt_list *)other;

	if (field->encoding == GMT_ENCODING_STRING)
		return slice->length == other_slice->length &&
			(!slice->length || memcmp(slice->text, other_slice->text, slice->length) == 0);
	if (field->encoding == GMT_ENCODING_LIST)
		return list->count == other_list->count &&
			(!list->count ||
				memcmp(list->items, other_list->items, list->count * sizeof(*list->items)) == 0);
	return memcmp(one, other, field->size_bytes) == 0;
}

static void check_round_trip(const struct gmt_record_info *record, const struct gmt_block *block,
	char *rows)
{
	static struct gmt_encoder encoder;
	struct gmt_decoder decoder = { 0 };
	const char *again;

	if (block->kind == GMT_RECORD_EVENT)
		gmt_torch_totals_to_differences((struct gmt_event *)rows, block->rows);
	/*
	 * The new block may be too long or shorter: the old one may have numbers in more bytes than
	 * needed, or absent columns.
	 */
	if (gmt_encode_rows(&encoder, block->kind, rows, block->rows, NULL))
		return;

	struct gmt_block made = {
		block->kind,
		block->rows,
		(uint32_t)(encoder.block.count - GMT_BLOCK_HEADER_BYTES),
		encoder.block.items + GMT_BLOCK_HEADER_BYTES,
	};
	if (gmt_decode_rows(&decoder, &made, (const void **)&again, NULL))
		abort();
	if (block->kind == GMT_RECORD_EVENT)
		gmt_torch_totals_from_differences((struct gmt_event *)rows, block->rows);
	for (uint32_t row = 0; row < block->rows; row++)
		for (uint32_t f = 0; f < record->field_count; f++) {
			size_t offset = (size_t)row * record->row_bytes + record->fields[f].offset;

			if (!is_equal(&record->fields[f], rows + offset, again + offset))
				abort();
		}
	gmt_decoder_fini(&decoder);
}

/* Returns whether rows hold totals in this field, while its column holds differences. */
static bool is_total(const struct gmt_block *block, const struct gmt_field_info *field)
{
	return block->kind == GMT_RECORD_EVENT &&
		(field->offset == offsetof(struct gmt_event, allocated_bytes) ||
			field->offset == offsetof(struct gmt_event, reserved_bytes));
}

static void check_columns(const struct gmt_record_info *record, const struct gmt_block *block,
	const char *rows)
{
	struct gmt_column_reader column;
	uint64_t value;

	for (uint32_t f = 0; f < record->field_count; f++) {
		const struct gmt_field_info *field = &record->fields[f];

		if (is_total(block, field) || !gmt_column_reader_open(&column, block, record, f))
			continue;
		for (uint32_t row = 0; row < block->rows; row++)
			if (!gmt_column_reader_next(&column, &value) ||
				memcmp(&value, rows + (size_t)row * record->row_bytes + field->offset,
					field->size_bytes) != 0)
				abort();
	}
}

static bool has_numbers_only(const struct gmt_record_info *record)
{
	for (uint32_t f = 0; f < record->field_count; f++)
		if (record->fields[f].encoding == GMT_ENCODING_STRING ||
			record->fields[f].encoding == GMT_ENCODING_LIST)
			return false;
	return true;
}

/* `rows`: the decoded rows of the block, with totals; NULL: the block cannot be decoded. */
static void check_all_columns(const struct gmt_record_info *record, const struct gmt_block *block,
	const char *rows)
{
	struct gmt_columns columns = { 0 };

	if (!has_numbers_only(record))
		return;
	if (!gmt_decode_columns(&columns, block, NULL) != (rows != NULL))
		abort();
	for (uint32_t row = 0; rows && row < block->rows; row++)
		for (uint32_t f = 0; f < record->field_count; f++)
			if (gmt_cell(&columns.cells[f], row) !=
				gmt_field_number(&record->fields[f],
					rows + (size_t)row * record->row_bytes + record->fields[f].offset))
				abort();
	gmt_columns_fini(&columns);
}

static void show(const struct gmt_record_info *record, const struct gmt_block *block,
	const char *rows)
{
	for (uint32_t i = 0; i < block->rows && i < 16; i++) {
		const char *row = rows + (size_t)i * record->row_bytes;

		gmt_dump_text(fuzz_output(FUZZ_TEXT), record, row);
		gmt_dump_json(fuzz_output(FUZZ_JSON), record, row);
		fuzz_output_end(FUZZ_TEXT);
		fuzz_output_end(FUZZ_JSON);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_source *source;
	struct gmt_block block;
	const void *rows;
	uint8_t *content = fuzz_copy(data, size);
	char path[FUZZ_PATH_BYTES];
	bool is_shown;

	fuzz_store(0, content, size, path);
	is_shown = fuzz_is_thorough || (gmt_hash_bytes(content, size) & 3) == 0;
	free(content);
	if (gmt_source_open(path, &source, NULL))
		return 0;
	while (!gmt_source_next(source, &block, NULL)) {
		const struct gmt_record_info *record = gmt_record_info(block.kind);

		if (!record)
			continue;
		if (gmt_decode_rows(&decoder, &block, &rows, NULL)) {
			check_all_columns(record, &block, NULL);
			continue;
		}
		if (is_shown)
			show(record, &block, rows);
		check_columns(record, &block, rows);
		check_all_columns(record, &block, rows);
		check_round_trip(record, &block, (char *)(uintptr_t)rows);
	}
	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
	return 0;
}

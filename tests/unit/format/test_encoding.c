/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "containers/map.h"
#include "recording_file.h"
#include "temporary_file.h"
#include "format/encoding/decode_columns.h"
#include "format/encoding/decode_rows.h"
#include "format/encoding/torch_totals.h"
#include "options/option_value.h"
#include "source/source.h"
#include "format/encoding/varint.h"

static void small_numbers_take_one_byte_and_all_are_decoded(void **state)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 300, UINT32_MAX, INT64_MAX, UINT64_MAX };
	uint8_t bytes[GMT_VARINT_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		const uint8_t *end = gmt_varint_put(bytes, values[i]), *at = bytes;
		uint64_t value = 0;

		assert_true(gmt_varint_get(&at, end, &value));
		assert_true(at == end && value == values[i]);
		assert_int_equal(gmt_unzigzag(gmt_zigzag(values[i])), values[i]);
		at = bytes;
		assert_false(gmt_varint_get(&at, end - 1, &value));
	}
	assert_int_equal(gmt_varint_put(bytes, 127) - bytes, 1);
	assert_int_equal(gmt_zigzag((uint64_t)-1), 1);
}

/* Reads random bytes, most of which have the continuation bit. */
static void both_decoders_of_a_number_agree(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint8_t bytes[2 * GMT_VARINT_MAX_BYTES];
		size_t length = 0, longest = i % sizeof(bytes) + 1;
		uint64_t one = 7, other = 7;

		while (length < longest) {
			random = gmt_hash_u64(random);
			bytes[length++] = (uint8_t)(random % 8 ? random >> 8 | 0x80 : random >> 8);
		}
		const uint8_t *at = bytes, *fast = bytes, *end = bytes + length;
		assert_int_equal(gmt_varint_get(&at, end, &one), gmt_varint_get_long(&fast, end, &other));
		assert_true(at == fast && one == other);
	}
}

static void option_values_are_words_numbers_with_units_or_sizes(void **state)
{
	static const struct {
		const char *values, *good, *bad;
	} cases[] = {
		{ "on|off", "off", "of" },
		{ "on|off", "on", "on|off" },
		{ "on|off", "on", "" },
		{ "TEXT", "x", "" },
		{ "1..512", "512", "513" },
		{ "1..512", "1", "1s" },
		{ "1..512", "7", "-7" },
		{ "1..9|1s..9s|1steps..9steps", "9", "10" },
		{ "1..9|1s..9s|1steps..9steps", "9s", "9m" },
		{ "1..9|1s..9s|1steps..9steps", "3steps", "3step" },
		{ "1MiB..1EiB|none", "none", "some" },
		{ "1MiB..1EiB|none", "4GiB", "1023KiB" },
		{ "1MiB..1EiB|none", "1048576", "2EiB" },
		{ "off|SIZE", "8GiB", "SIZE" },
		{ "off|SIZE", "off", "8 apples" },
		{ "1..9", "1", "11111111111111111111111111111111111111111111111111" },
	};
	struct gmt_window window;
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(gmt_option_value_is_allowed(cases[i].values, cases[i].good));
		assert_false(gmt_option_value_is_allowed(cases[i].values, cases[i].bad));
	}
	assert_true(gmt_option_value_window("30s", &window));
	assert_true(window.unit == GMT_WINDOW_SECONDS && window.count == 30);
	assert_true(gmt_option_value_window("20steps", &window));
	assert_true(window.unit == GMT_WINDOW_STEPS && window.count == 20);
	assert_false(gmt_option_value_window("20 steps", &window));
	assert_true(gmt_option_value_size("none", &bytes) && bytes == UINT64_MAX);
	assert_true(gmt_option_value_size("2MiB", &bytes) && bytes == 2 << 20);
}

static void a_number_of_more_than_64_bits_is_refused(void **state)
{
	uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	const uint8_t *at = bytes;
	uint64_t value;

	(void)state;
	assert_false(gmt_varint_get(&at, bytes + sizeof(bytes), &value));
	bytes[9] = 0x81;
	at = bytes;
	assert_false(gmt_varint_get(&at, bytes + sizeof(bytes), &value));
}

/* Returns the rows of the file's first block of a kind. */
static const void *read_rows(uint32_t kind, struct gmt_decoder *decoder, struct gmt_source **source,
	uint32_t *count)
{
	struct gmt_error error = { 0 };
	struct gmt_block block;
	const void *rows;

	assert_int_equal(gmt_source_open(path, source, &error), GMT_OK);
	do
		assert_int_equal(gmt_source_next(*source, &block, &error), GMT_OK);
	while (block.kind != kind);
	assert_int_equal(gmt_decode_rows(decoder, &block, &rows, &error), GMT_OK);
	*count = block.rows;
	return rows;
}

static void every_record_is_decoded_as_it_was_written(void **state)
{
	struct recording_file file;
	struct gmt_decoder decoder = { 0 };
	uint64_t words[64];

	(void)state;
	for (size_t i = 0; i < 64; i++)
		words[i] = i * 0x0123456789abcdef;
	recording_file_open(&file, path, 6);
	for (uint32_t kind = 1; gmt_record_info(kind); kind++) {
		const struct gmt_record_info *record = gmt_record_info(kind);
		char rows[3][256] = { { 0 } };

		for (uint32_t r = 0; r < 3; r++)
			for (uint32_t f = 0; f < record->field_count; f++) {
				char *cell = rows[0] + r * record->row_bytes + record->fields[f].offset;

				if (record->fields[f].encoding == 'S')
					*(struct gmt_slice *)cell = (struct gmt_slice){ "a\0b\xff", r + 1 };
				else if (record->fields[f].encoding == 'L')
					*(struct gmt_list *)cell = (struct gmt_list){ words, r * 20 };
				else
					memset(cell, (int)(0x61 + 31 * f + r), record->fields[f].size_bytes);
			}
		/* Totals are absolute. The helper computes differences in the rows themselves. */
		recording_file_put(&file, kind, rows, 3);
	}
	recording_file_close(&file);

	for (uint32_t kind = 1; gmt_record_info(kind); kind++) {
		const struct gmt_record_info *record = gmt_record_info(kind);
		struct gmt_source *source;
		uint32_t count;
		const char *row = read_rows(kind, &decoder, &source, &count);

		assert_int_equal(count, 3);
		for (uint32_t r = 0; r < 3; r++, row += record->row_bytes)
			for (uint32_t f = 0; f < record->field_count; f++) {
				const char *cell = row + record->fields[f].offset;
				char expected[8];

				memset(expected, (int)(0x61 + 31 * f + r), sizeof(expected));
				if (record->fields[f].encoding == 'S') {
					const struct gmt_slice *text = (const struct gmt_slice *)cell;

					assert_int_equal(text->length, r + 1);
					assert_memory_equal(text->text, "a\0b\xff", r + 1);
				} else if (record->fields[f].encoding == 'L') {
					const struct gmt_list *list = (const struct gmt_list *)cell;

					assert_int_equal(list->count, r * 20);
					assert_memory_equal(list->items, words, r * 20 * 8);
				} else {
					assert_memory_equal(cell, expected, record->fields[f].size_bytes);
				}
			}
		gmt_source_close(source);
	}
	gmt_decoder_fini(&decoder);
}

static void totals_that_follow_from_the_previous_row_take_no_bytes(void **state)
{
	struct gmt_event rows[] = {
		{ .layer = GMT_LAYER_TORCH,
			.kind = GMT_KIND_ALLOC,
			.size_bytes = 512,
			.allocated_bytes = 1512,
			.reserved_bytes = 4096 },
		{ .layer = GMT_LAYER_CUDA, .kind = GMT_KIND_ALLOC, .size_bytes = 77 },
		{ .layer = GMT_LAYER_TORCH,
			.kind = GMT_KIND_ALLOC,
			.size_bytes = 100,
			.allocated_bytes = 1612,
			.reserved_bytes = 4096 },
		{ .layer = GMT_LAYER_TORCH,
			.kind = GMT_KIND_ALLOC_FAILED,
			.size_bytes = 9,
			.allocated_bytes = 1612,
			.reserved_bytes = 4096 },
		{ .layer = GMT_LAYER_TORCH,
			.kind = GMT_KIND_FREE,
			.size_bytes = 512,
			.allocated_bytes = 1100,
			.reserved_bytes = 2048 },
	};
	struct gmt_event copy[5];

	(void)state;
	memcpy(copy, rows, sizeof(rows));
	gmt_torch_totals_to_differences(copy, 5);
	assert_int_equal(copy[0].allocated_bytes, 1000);
	assert_int_equal(copy[2].allocated_bytes, 0);
	assert_int_equal(copy[2].reserved_bytes, 0);
	assert_int_equal(copy[3].allocated_bytes, 0);
	assert_int_equal(copy[4].allocated_bytes, 0);
	assert_int_equal(copy[4].reserved_bytes, -2048);
	gmt_torch_totals_from_differences(copy, 5);
	assert_memory_equal(copy, rows, sizeof(rows));
}

/*
 * Returns a random number for a column, sometimes an extreme one. A `magnitude` of 0 gives the same
 * number for all rows.
 */
static uint64_t draw_cell(uint64_t *random, unsigned magnitude, const struct gmt_field_info *field)
{
	*random = gmt_hash_u64(*random + 1);
	if (!magnitude)
		return 7;
	return *random % 50 ? *random >> 8 & ((UINT64_C(1) << magnitude % (8 * field->size_bytes)) - 1)
						: 0 - (*random & 1);
}

static void columns_and_rows_decode_to_the_same_values(void **state)
{
	enum { ROWS = 700 };
	const struct gmt_record_info *record = gmt_record_info(GMT_RECORD_EVENT);
	struct gmt_decoder decoder = { 0 };
	struct gmt_columns columns = { 0 };
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct recording_file file;
		struct gmt_source *source;
		struct gmt_error error = { 0 };
		struct gmt_block block;
		static struct gmt_event events[ROWS];
		const char *rows;

		memset(events, 0, sizeof(events));
		for (uint32_t f = 0; f < record->field_count; f++) {
			unsigned magnitude = (unsigned)(gmt_hash_u64(random + 9) % 5 * 7);

			for (uint32_t i = 0; i < ROWS; i++) {
				uint64_t value = draw_cell(&random, magnitude, &record->fields[f]);

				/*
				 * A difference column with equal cells: the number itself changes by 3 in each row.
				 */
				if (!magnitude && record->fields[f].encoding == 'D')
					value = 3 * (i + 1);
				memcpy((char *)&events[i] + record->fields[f].offset, &value,
					record->fields[f].size_bytes);
			}
		}
		for (uint32_t i = 0; i < ROWS; i++)
			events[i].layer = round % 3 ? 1 + (i + (unsigned)round) % 2 : GMT_LAYER_TORCH;
		recording_file_open(&file, path, 1);
		recording_file_put(&file, GMT_RECORD_EVENT, events, ROWS);
		recording_file_close(&file);
		assert_int_equal(gmt_source_open(path, &source, &error), GMT_OK);
		assert_int_equal(gmt_source_next(source, &block, &error), GMT_OK);
		assert_int_equal(gmt_decode_rows(&decoder, &block, (const void **)&rows, &error), GMT_OK);
		assert_int_equal(gmt_decode_columns(&columns, &block, &error), GMT_OK);
		for (uint32_t f = 0; f < record->field_count; f++) {
			const struct gmt_field_info *field = &record->fields[f];

			for (uint32_t i = 0; i < ROWS; i++)
				assert_int_equal(gmt_cell(&columns.cells[f], i),
					gmt_field_number(field, rows + (size_t)i * record->row_bytes + field->offset));
			/* Expanding a column does not change its values. */
			const uint64_t *values = gmt_columns_expand(&columns, f);
			for (uint32_t i = 0; i < ROWS; i++)
				assert_int_equal(values[i], gmt_cell(&columns.cells[f], i));
		}
		gmt_source_close(source);
	}
	gmt_columns_fini(&columns);
	gmt_decoder_fini(&decoder);
}

/* Decodes a block with any payload. */
static enum gmt_status decode_raw(uint32_t kind, uint32_t rows, const void *payload,
	uint32_t length, struct gmt_decoder *decoder, const void **ret_rows)
{
	struct gmt_block block = { kind, rows, length, payload };
	struct gmt_error error;

	return gmt_decode_rows(decoder, &block, ret_rows, &error);
}

static void missing_columns_are_zero_and_unknown_columns_are_skipped(void **state)
{
	struct gmt_decoder decoder = { 0 };
	const struct gmt_device *device;
	const struct gmt_clock *clock;
	const void *rows;

	(void)state;
	assert_int_equal(decode_raw(GMT_RECORD_DEVICE, 2, "\2\1\2", 3, &decoder, &rows), GMT_OK);
	device = rows;
	assert_int_equal(device[1].ordinal, 2);
	assert_int_equal(device[1].total_bytes, 0);
	assert_int_equal(device[1].name.length, 0);
	/* C libraries accept a length of 0, but not a null pointer. */
	assert_non_null(device[1].name.text);
	assert_int_equal(decode_raw(GMT_RECORD_STACK, 1, "\1\1", 2, &decoder, &rows), GMT_OK);
	assert_non_null(((const struct gmt_stack *)rows)->items.items);
	assert_int_equal(decode_raw(GMT_RECORD_CLOCK, 1, "\1\2\1\4\1\6\3abc", 10, &decoder, &rows),
		GMT_OK);
	clock = rows;
	assert_int_equal(clock->realtime_ns, 3);
	gmt_decoder_fini(&decoder);
}

static void payloads_that_break_the_rules_are_refused(void **state)
{
	static const struct {
		uint32_t kind, rows;
		const char *payload;
		uint32_t length;
	} bad[] = {
		{ GMT_RECORD_SYNC, 1, "\2\1", 2 },             /* the column is longer than the payload */
		{ GMT_RECORD_SYNC, 1, "\2\1\2", 3 },           /* the column has one byte too many */
		{ GMT_RECORD_SYNC, 2, "\1\1", 2 }, /* the column lacks a row */
		{ GMT_RECORD_NOTE, 1, "\2\5x", 3 },            /* a string beyond its column */
		{ GMT_RECORD_FRAMES, 1, "\1\1\1\0\2\5\1", 7 }, /* a list beyond its column */
		{ GMT_RECORD_THREAD, 1, "\5\x80\x80\x80\x80\x10", 6 }, /* 2^32 in 32 bits */
		{ GMT_RECORD_EVENT, 1, "\1\0\1\0\2\x80\2", 7 }, /* 256 in 8 bits */
		{ GMT_RECORD_EVENT, 1, "\1\0\1\0\1\0\1\0\1\0\3\x80\x80\4", 14 }, /* 32768 in int16 */
	};
	struct gmt_decoder decoder = { 0 };
	struct gmt_columns columns = { 0 };
	const void *rows;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct gmt_block block = { bad[i].kind, bad[i].rows, bad[i].length,
			(const uint8_t *)bad[i].payload };

		assert_int_equal(decode_raw(bad[i].kind, bad[i].rows, bad[i].payload, bad[i].length,
							 &decoder, &rows),
			GMT_DAMAGED);
		if (bad[i].kind == GMT_RECORD_SYNC || bad[i].kind == GMT_RECORD_EVENT)
			assert_int_equal(gmt_decode_columns(&columns, &block, NULL), GMT_DAMAGED);
	}
	gmt_columns_fini(&columns);
	assert_int_equal(decode_raw(GMT_RECORD_EVENT, 1, "\1\0\1\0\1\0\1\0\1\0\3\xff\xff\3", 14,
						 &decoder, &rows),
		GMT_OK);
	assert_int_equal(((const struct gmt_event *)rows)->device, INT16_MIN);
	gmt_decoder_fini(&decoder);
}

static void a_sink_that_failed_ignores_later_writes(void **state)
{
	struct gmt_error error = { 0 };
	struct gmt_sink *sink;
	char noise[4096];
	int fd = open("/dev/full", O_WRONLY), failures = 0;
	uint64_t random = 1;

	(void)state;
	assert_int_equal(gmt_sink_open(fd, 1, &sink, &error), GMT_OK);
	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (char)((random = random * 6364136223846793005u + 1) >> 56);
		failures += gmt_sink_push(sink, noise, sizeof(noise), &error) == GMT_WRITE;
	}
	assert_int_equal(failures, 1);
	assert_string_equal(error.text, "No space left on device");
	assert_int_equal(gmt_sink_sync(sink, &error), GMT_OK);
	assert_int_equal(gmt_sink_close(sink, &error), GMT_OK);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ENCODING_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		ENCODING_TEST(small_numbers_take_one_byte_and_all_are_decoded),
		ENCODING_TEST(both_decoders_of_a_number_agree),
		ENCODING_TEST(option_values_are_words_numbers_with_units_or_sizes),
		ENCODING_TEST(a_number_of_more_than_64_bits_is_refused),
		ENCODING_TEST(every_record_is_decoded_as_it_was_written),
		ENCODING_TEST(totals_that_follow_from_the_previous_row_take_no_bytes),
		ENCODING_TEST(columns_and_rows_decode_to_the_same_values),
		ENCODING_TEST(missing_columns_are_zero_and_unknown_columns_are_skipped),
		ENCODING_TEST(payloads_that_break_the_rules_are_refused),
		ENCODING_TEST(a_sink_that_failed_ignores_later_writes),
#undef ENCODING_TEST
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

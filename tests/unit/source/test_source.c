/* SPDX-License-Identifier: MIT */
/* Reads files into blocks: whole, cut and damaged files, in pieces of any size. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include "containers/map.h"
#include "recording_file.h"
#include "temporary_file.h"
#include "format/encoding/block.h"
#include "format/encoding/decode_rows.h"
#include "source/source.h"

static enum gmt_status open_source(struct gmt_source **ret_source, struct gmt_error *error)
{
	return gmt_source_open(path, ret_source, error);
}

static void put_block(struct recording_file *file, uint32_t kind, uint32_t rows,
	const void *payload, uint32_t size_bytes)
{
	uint32_t header[4] = { kind, rows, size_bytes };

	header[3] = (uint32_t)crc32(crc32(0, (const Bytef *)header, 12), payload, size_bytes);
	recording_file_put_bytes(file, header, sizeof(header));
	recording_file_put_bytes(file, payload, size_bytes);
}

static enum gmt_status first_block(const char **ret_text)
{
	static struct gmt_error error;
	struct gmt_source *source;
	struct gmt_block block;

	assert_int_equal(open_source(&source, &error), GMT_OK);
	enum gmt_status status = gmt_source_next(source, &block, &error);
	*ret_text = error.text;
	gmt_source_close(source);
	return status;
}

static void a_block_with_more_rows_than_bytes_is_refused(void **state)
{
	static const uint32_t shapes[][2] = { { 2, 1 }, { 0, 4 }, { GMT_BLOCK_MAX_ROWS + 1, 4 } };
	struct recording_file file;
	const char *text;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		recording_file_open(&file, path, 6);
		put_block(&file, GMT_RECORD_EVENT, shapes[i][0], "\1\1\1\1", shapes[i][1]);
		recording_file_close(&file);
		assert_int_equal(first_block(&text), GMT_DAMAGED);
		assert_non_null(strstr(text, "impossible size"));
	}
	uint32_t header[4] = { GMT_RECORD_EVENT, 1, GMT_BLOCK_MAX_BYTES + 1, 0 };
	recording_file_open(&file, path, 6);
	recording_file_put_bytes(&file, header, sizeof(header));
	recording_file_close(&file);
	assert_int_equal(first_block(&text), GMT_DAMAGED);
}

static void a_wrong_checksum_stops_the_reading(void **state)
{
	uint32_t header[4] = { GMT_RECORD_SYNC, 1, 2, 0x12345678 };
	struct recording_file file;
	const char *text;

	(void)state;
	recording_file_open(&file, path, 6);
	recording_file_put_bytes(&file, header, sizeof(header));
	recording_file_put_bytes(&file, "\1\1", 2);
	recording_file_close(&file);
	assert_int_equal(first_block(&text), GMT_DAMAGED);
	assert_non_null(strstr(text, "checksum"));
}

static void append(const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

static void bytes_after_the_end_of_the_gzip_stream_are_damage(void **state)
{
	struct recording_file file;
	struct gmt_error error;
	struct gmt_source *source;
	struct gmt_block block;

	(void)state;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 1);
	recording_file_close(&file);
	append("garbage", 7);
	assert_int_equal(open_source(&source, &error), GMT_OK);
	assert_int_equal(gmt_source_next(source, &block, &error), GMT_OK);
	assert_int_equal(gmt_source_next(source, &block, &error), GMT_DAMAGED);
	gmt_source_close(source);
}

static void a_file_that_is_cut_at_a_sync_point_is_readable_up_to_it(void **state)
{
	struct recording_file file;
	struct gmt_error error;
	struct gmt_source *source;
	struct gmt_block block;
	struct stat status;

	(void)state;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 1);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 2);
	recording_file_sync(&file);
	assert_int_equal(stat(path, &status), 0);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 3);
	recording_file_close(&file);
	assert_int_equal(truncate(path, status.st_size), 0);

	assert_int_equal(open_source(&source, &error), GMT_OK);
	assert_int_equal(gmt_source_next(source, &block, &error), GMT_OK);
	assert_int_equal(gmt_source_next(source, &block, &error), GMT_OK);
	assert_int_equal(gmt_source_next(source, &block, &error), GMT_DAMAGED);
	assert_non_null(strstr(error.text, "killed"));
	gmt_source_close(source);
}

static uint64_t stamp_of_next(struct gmt_source *source)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_error error;
	struct gmt_block block;
	const void *rows;
	uint64_t stamp = 0;

	if (!gmt_source_next(source, &block, &error) &&
		!gmt_decode_rows(&decoder, &block, &rows, &error))
		stamp = ((const struct gmt_sync *)rows)->stamp;
	gmt_decoder_fini(&decoder);
	return stamp;
}

static void members_can_be_split_and_joined(void **state)
{
	struct recording_file file;
	struct gmt_error error;
	struct gmt_source *source;
	uint8_t tail[4096];

	(void)state;
	recording_file_open(&file, path, 1);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 1);
	assert_int_equal(gmt_sink_end_member(file.sink, NULL, &error), GMT_OK);
	uint64_t first = gmt_sink_written_bytes(file.sink);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 2);
	assert_int_equal(gmt_sink_end_member(file.sink, NULL, &error), GMT_OK);
	uint64_t second = gmt_sink_written_bytes(file.sink);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 3);
	recording_file_sync(&file);

	/* Reads only the first part, through the caller's descriptor. */
	int fd = open(path, O_RDWR);
	assert_int_equal(gmt_source_open_part(fd, first, path, &source, &error), GMT_OK);
	assert_int_equal(stamp_of_next(source), 1);
	struct gmt_block block;
	assert_int_equal(gmt_source_next(source, &block, &error), GMT_END);
	gmt_source_close(source);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);

	/* Removes the second part. The sink continues after the third. */
	uint64_t length = gmt_sink_written_bytes(file.sink) - second;
	assert_int_equal(pread(fd, tail, sizeof(tail), (off_t)second), length);
	assert_int_equal(pwrite(fd, tail, length, (off_t)first), length);
	assert_int_equal(ftruncate(fd, (off_t)(first + length)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), first + length);
	assert_true(gmt_sink_move(file.sink, fd, first + length));
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 4);
	recording_file_close(&file);
	assert_int_equal(open_source(&source, &error), GMT_OK);
	assert_int_equal(stamp_of_next(source), 1);
	assert_int_equal(stamp_of_next(source), 3);
	assert_int_equal(stamp_of_next(source), 4);
	assert_int_equal(gmt_source_next(source, &block, &error), GMT_END);
	gmt_source_close(source);
	close(fd);
}

/* Writes three members of less than 4096 bytes. */
static void make_small_file(void)
{
	struct recording_file file;
	struct gmt_error error;

	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, API, gmt_api, .id = 1, .name = slice("cuMemAlloc_v2"),
		.library = slice("cuda"));
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 1);
	assert_int_equal(gmt_sink_end_member(file.sink, NULL, &error), GMT_OK);
	for (uint64_t i = 0; i < 40; i++)
		RECORDING_PUT(&file, EVENT, gmt_event, .stamp = i, .address = i << 12,
			.size_bytes = i * i * 977);
	recording_file_sync(&file);
	/*
	 * A letter that cannot be predicted ends a block, and a match begins the next block. Some
	 * decoders look at both together.
	 */
	for (uint32_t i = 0; i < 40; i++) {
		char text[9] = "";

		for (unsigned letter = 0; letter < 8; letter++)
			text[letter] = "abcdefghijklmnop"[gmt_hash_u64(i * 8 + letter) % 16];
		RECORDING_PUT(&file, API, gmt_api, .id = 1, .name = slice("x"), .library = slice(text));
	}
	recording_file_sync(&file);
	assert_int_equal(gmt_sink_end_member(file.sink, NULL, &error), GMT_OK);
	RECORDING_PUT(&file, SYNC, gmt_sync, .stamp = 3);
	recording_file_close(&file);
}

enum { SMALL_FILE_BLOCKS = 83 };

struct reading {
	enum gmt_status status;
	struct gmt_error error;
	unsigned blocks;
	uint32_t crcs[SMALL_FILE_BLOCKS + 1]; /* checksums of the content up to each number of blocks */
};

static struct reading read_all(const char *from)
{
	struct reading reading = { .status = GMT_OK };
	struct gmt_source *source;
	struct gmt_block block;

	reading.status = gmt_source_open(from, &source, &reading.error);
	if (reading.status)
		return reading;
	while (!(reading.status = gmt_source_next(source, &block, &reading.error))) {
		uint32_t crc = reading.crcs[reading.blocks++];

		assert_in_range(reading.blocks, 1, SMALL_FILE_BLOCKS);
		reading.crcs[reading.blocks] = (uint32_t)crc32(crc, block.payload, block.size_bytes);
	}
	gmt_source_close(source);
	return reading;
}

static void a_pipe_with_one_byte_a_read_gives_the_same_as_the_file(void **state)
{
	struct reading of_file, of_pipe;
	uint8_t bytes[4096];
	char name[32];
	int ends[2], fd;

	(void)state;
	make_small_file();
	of_file = read_all(path);
	fd = open(path, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	close(fd);
	assert_true(size > 200 && (size_t)size < sizeof(bytes));
	/* Each write is a packet, and no read takes two packets. */
	assert_int_equal(pipe2(ends, O_DIRECT), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	pid_t child = fork();
	if (!child) {
		close(ends[0]);
		/* check_header reads the first two bytes together. */
		bool is_written = write(ends[1], bytes, 2) == 2;
		for (ssize_t i = 2; i < size && is_written; i++)
			is_written = write(ends[1], bytes + i, 1) == 1;
		_exit(!is_written);
	}
	close(ends[1]);
	of_pipe = read_all(name);
	close(ends[0]);
	waitpid(child, NULL, 0);
	assert_int_equal(of_file.status, GMT_END);
	assert_int_equal(of_file.blocks, SMALL_FILE_BLOCKS);
	assert_int_equal(of_pipe.status, GMT_END);
	assert_memory_equal(of_pipe.crcs, of_file.crcs, sizeof(of_file.crcs));
}

static void a_file_that_is_cut_anywhere_is_readable_up_to_the_cut(void **state)
{
	struct stat file_status;
	unsigned whole = 0, max_blocks;

	(void)state;
	make_small_file();
	assert_int_equal(stat(path, &file_status), 0);

	const struct reading intact = read_all(path);

	max_blocks = intact.blocks;
	for (off_t size = file_status.st_size - 1; size > 0; size--) {
		assert_int_equal(truncate(path, size), 0);
		struct reading reading = read_all(path);

		whole += reading.status == GMT_END;
		assert_true(reading.blocks <= max_blocks);
		assert_int_equal(reading.crcs[reading.blocks], intact.crcs[reading.blocks]);
		max_blocks = reading.blocks;
	}
	/* A file may end at the end of a member. */
	assert_int_equal(whole, 2);
	assert_int_equal(max_blocks, 0);
}

static void a_file_with_one_wrong_bit_never_gives_other_rows(void **state)
{
	struct stat file_status;
	unsigned whole = 0;
	int fd;

	(void)state;
	make_small_file();
	assert_int_equal(stat(path, &file_status), 0);
	fd = open(path, O_RDWR);

	const struct reading intact = read_all(path);

	for (off_t bit = 0; bit < file_status.st_size * 8; bit++) {
		uint8_t byte;

		assert_int_equal(pread(fd, &byte, 1, bit / 8), 1);
		byte ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(pwrite(fd, &byte, 1, bit / 8), 1);

		struct reading reading = read_all(path);

		assert_int_equal(reading.crcs[reading.blocks], intact.crcs[reading.blocks]);
		assert_true(reading.status != GMT_END || reading.blocks == intact.blocks);
		whole += reading.status == GMT_END;
		byte ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(pwrite(fd, &byte, 1, bit / 8), 1);
	}
	close(fd);
	/*
	 * The reader ignores times, systems and hints in members' headers, and bits that fill a byte.
	 */
	assert_in_range(whole, 3 * 48, 3 * 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define SOURCE_TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)
		SOURCE_TEST(a_block_with_more_rows_than_bytes_is_refused),
		SOURCE_TEST(a_wrong_checksum_stops_the_reading),
		SOURCE_TEST(bytes_after_the_end_of_the_gzip_stream_are_damage),
		SOURCE_TEST(a_file_that_is_cut_at_a_sync_point_is_readable_up_to_it),
		SOURCE_TEST(members_can_be_split_and_joined),
		SOURCE_TEST(a_pipe_with_one_byte_a_read_gives_the_same_as_the_file),
		SOURCE_TEST(a_file_that_is_cut_anywhere_is_readable_up_to_the_cut),
		SOURCE_TEST(a_file_with_one_wrong_bit_never_gives_other_rows),
#undef SOURCE_TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

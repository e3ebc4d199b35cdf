/* SPDX-License-Identifier: MIT */
/* Decompression of the members of gzip files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "containers/map.h"
#include "format/encoding/inflate.h"

enum { CONTENT_BYTES = 300000, MEMBER_BYTES = 2 * CONTENT_BYTES };

/* Returns content with random bytes, repeated bytes from near and far, and a run. */
static uint8_t *make_content(void)
{
	uint8_t *content = malloc(CONTENT_BYTES);
	uint64_t random = 1;

	for (size_t i = 0; i < CONTENT_BYTES; i++) {
		random = gmt_hash_u64(random);
		if (i < 70000)
			content[i] = (uint8_t)(random % 3 ? random >> 60 : random >> 8);
		else if (i < 200000)
			content[i] = content[i - 1 - (i / 700 * 97) % 32768];
		else
			content[i] = (uint8_t)(i < 260000 ? 7 : random >> 8);
	}
	return content;
}

/*
 * Writes one deflate stream with sync points: half with dynamic codes, a quarter stored, the rest
 * with fixed codes.
 */
static size_t deflate_all(const uint8_t *content, size_t size, uint8_t *to, bool is_ended)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)content,
		.avail_in = (uInt)(size / 2),
		.next_out = to,
		.avail_out = MEMBER_BYTES };

	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_SYNC_FLUSH), Z_OK);
	stream.avail_in = (uInt)(size / 4);
	assert_int_equal(deflateParams(&stream, 0, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_SYNC_FLUSH), Z_OK);
	stream.avail_in = (uInt)(size - size / 2 - size / 4);
	assert_int_equal(deflateParams(&stream, 1, Z_FIXED), Z_OK);
	assert_int_equal(deflate(&stream, is_ended ? Z_FINISH : Z_SYNC_FLUSH),
		is_ended ? Z_STREAM_END : Z_OK);
	deflateEnd(&stream);
	return MEMBER_BYTES - stream.avail_out;
}

/* Writes a member whose header has all optional fields. */
static size_t make_member(const uint8_t *content, size_t size, uint8_t *to)
{
	static const uint8_t header[] = "\x1f\x8b\x08\x1f\1\2\3\4\0\xff"
									"\5\0extra"
									"a name\0"
									"and a comment";
	uint32_t crc = (uint32_t)crc32(0, header, sizeof(header)), total = (uint32_t)size;
	size_t length = sizeof(header);

	memcpy(to, header, length);
	memcpy(to + length, &crc, 2);
	length += 2 + deflate_all(content, size, to + length + 2, true);
	crc = (uint32_t)crc32(0, content, (uInt)size);
	memcpy(to + length, &crc, 4);
	memcpy(to + length + 4, &total, 4);
	return length + 8;
}

static size_t least(size_t one, size_t other)
{
	return one < other ? one : other;
}

/*
 * Decompresses with input and output in pieces. Returns the number of bytes that came, and the last
 * answer.
 */
static size_t inflate_pieces(const uint8_t *from, size_t size, size_t in_piece, uint8_t *to,
	size_t out_piece, enum gmt_inflate_answer *ret_answer, size_t *ret_left)
{
	struct gmt_arena memory = { 0 };
	struct gmt_inflate_bytes bytes = { from, 0, to, 0 };
	const uint8_t *end = from + size;
	void *state = gmt_inflate_open(&memory);

	gmt_inflate_begin(state);
	do {
		if (!bytes.in_bytes)
			bytes.in_bytes = least(in_piece, (size_t)(end - bytes.in));
		if (!bytes.out_bytes)
			bytes.out_bytes = least(out_piece, CONTENT_BYTES + 1 - (size_t)(bytes.out - to));
		*ret_answer = gmt_inflate_run(state, &bytes);
	} while (*ret_answer == GMT_INFLATE_MORE && (bytes.in < end || !bytes.out_bytes));
	*ret_left = (size_t)(end - bytes.in);
	gmt_arena_fini(&memory);
	return (size_t)(bytes.out - to);
}

static const size_t pieces[] = { 1, 7, 4096, 100000, SIZE_MAX };

static void a_member_is_inflated_from_pieces_of_any_size(void **state)
{
	uint8_t *content = make_content(), *member = malloc(MEMBER_BYTES),
			*out = malloc(CONTENT_BYTES + 1);
	size_t size = make_member(content, CONTENT_BYTES, member), left;
	enum gmt_inflate_answer answer;

	(void)state;
	memcpy(member + size, "\x1f\x8b behind it", 12);
	for (size_t i = 0; i < 25; i++) {
		memset(out, 0, CONTENT_BYTES);
		assert_int_equal(inflate_pieces(member, size + 12, pieces[i / 5], out, pieces[i % 5],
							 &answer, &left),
			CONTENT_BYTES);
		assert_int_equal(answer, GMT_INFLATE_ENDED);
		assert_int_equal(left, 12);
		assert_memory_equal(out, content, CONTENT_BYTES);
	}
	free(content);
	free(member);
	free(out);
}

static void each_optional_part_of_a_header_may_be_alone(void **state)
{
	static const struct {
		uint8_t flags;
		char bytes[6];
		size_t size;
	} parts[] = {
		{ 0, "", 0 },
		{ 1, "", 0 },
		{ 4, "\0\0", 2 },
		{ 4, "\3\0abc", 5 },
		{ 4, "\1\1" /* and 257 bytes */, 259 },
		{ 8, "n\0", 2 },
		{ 8, "", 1 },
		{ 16, "c\0", 2 },
		{ 12, "\1\0ab\0", 5 },
		{ 24, "a\0b\0", 4 },
		{ 20, "\1\0ab\0", 5 },
	};
	static const uint8_t empty[10] = { 3 };
	enum gmt_inflate_answer answer;
	uint8_t member[300], out[CONTENT_BYTES + 1];
	size_t left;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(parts) / sizeof(*parts); i++) {
		size_t size = parts[i / 2].size;

		memset(member, 0, sizeof(member));
		memcpy(member, "\x1f\x8b\x08", 3);
		member[3] = parts[i / 2].flags;
		memcpy(member + 10, parts[i / 2].bytes, least(size, 5));
		memcpy(member + 10 + size, empty, sizeof(empty));
		assert_int_equal(inflate_pieces(member, 20 + size, i % 2 ? 1 : SIZE_MAX, out, SIZE_MAX,
							 &answer, &left),
			0);
		assert_int_equal(answer, GMT_INFLATE_ENDED);
		assert_int_equal(left, 0);
	}
}

static void a_header_that_no_gzip_file_has_is_damage(void **state)
{
	static const struct {
		size_t at;
		uint8_t is;
	} wrong[] = {
		{ 0, 0x1e },
		{ 1, 0x8c },
		{ 2, 7 },
		{ 3, 0x3f },
		{ 3, 0x9f },
		{ 12, 'E' },
		{ 37, 0x55 },
		{ 38, 0x55 },
	};
	uint8_t *content = make_content(), *member = malloc(MEMBER_BYTES),
			*out = malloc(CONTENT_BYTES + 1);
	size_t size = make_member(content, 1000, member), left;
	enum gmt_inflate_answer answer;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(wrong) / sizeof(*wrong); i++) {
		uint8_t was = member[wrong[i / 2].at];

		assert_int_not_equal(was, wrong[i / 2].is);
		member[wrong[i / 2].at] = wrong[i / 2].is;
		assert_int_equal(inflate_pieces(member, size, i % 2 ? 1 : SIZE_MAX, out, SIZE_MAX, &answer,
							 &left),
			0);
		assert_int_equal(answer, GMT_INFLATE_DAMAGED);
		member[wrong[i / 2].at] = was;
	}
	free(content);
	free(member);
	free(out);
}

static void a_wrong_trailer_is_damage_after_the_content_of_the_member(void **state)
{
	uint8_t *content = make_content(), *member = malloc(MEMBER_BYTES),
			*out = malloc(CONTENT_BYTES + 1);
	size_t size = make_member(content, CONTENT_BYTES, member), left;
	enum gmt_inflate_answer answer;

	(void)state;
	for (size_t i = 0; i < 8 * 4; i++) {
		member[size - 1 - i / 4] ^= 0x10;
		assert_int_equal(inflate_pieces(member, size, pieces[1 + i % 4], out, pieces[4 - i % 4],
							 &answer, &left),
			CONTENT_BYTES);
		assert_int_equal(answer, GMT_INFLATE_DAMAGED);
		assert_memory_equal(out, content, CONTENT_BYTES);
		member[size - 1 - i / 4] ^= 0x10;
	}
	free(content);
	free(member);
	free(out);
}

/*
 * The bytes after a sync point: none, a block of an unknown type, and a length that does not fit
 * its complement.
 */
static void synced_content_is_read_before_later_damage(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum gmt_inflate_answer answer;
	} behind[] = {
		{ "", 0, GMT_INFLATE_MORE },
		{ "\7", 1, GMT_INFLATE_DAMAGED },
		{ "\0\1\0\1\0", 5, GMT_INFLATE_DAMAGED },
	};
	uint8_t *content = make_content(), *member = malloc(MEMBER_BYTES),
			*out = malloc(CONTENT_BYTES + 1);
	size_t size, left;
	enum gmt_inflate_answer answer;

	(void)state;
	memcpy(member, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
	size = 10 + deflate_all(content, CONTENT_BYTES, member + 10, false);
	for (size_t i = 0; i < 3 * 25; i++) {
		memset(out, 0, CONTENT_BYTES);
		memcpy(member + size, behind[i / 25].bytes, behind[i / 25].size);
		assert_int_equal(inflate_pieces(member, size + behind[i / 25].size, pieces[i / 5 % 5], out,
							 pieces[i % 5], &answer, &left),
			CONTENT_BYTES);
		assert_int_equal(answer, behind[i / 25].answer);
		assert_memory_equal(out, content, CONTENT_BYTES);
	}
	free(content);
	free(member);
	free(out);
}

static void checksums_equal_those_of_zlib(void **state)
{
	uint8_t *content = make_content();

	(void)state;
	for (size_t size = 0; size < 1000; size++) {
		uint32_t crc = gmt_checksum(0, content, size);

		assert_int_equal(crc, crc32(0, content, (uInt)size));
		assert_int_equal(gmt_checksum(crc, content + size, 3 * size),
			crc32(0, content, (uInt)(4 * size)));
	}
	free(content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_is_inflated_from_pieces_of_any_size),
		cmocka_unit_test(each_optional_part_of_a_header_may_be_alone),
		cmocka_unit_test(a_header_that_no_gzip_file_has_is_damage),
		cmocka_unit_test(a_wrong_trailer_is_damage_after_the_content_of_the_member),
		cmocka_unit_test(synced_content_is_read_before_later_damage),
		cmocka_unit_test(checksums_equal_those_of_zlib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

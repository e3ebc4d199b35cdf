/* SPDX-License-Identifier: MIT */
#include "format/file/find_members.h"

#include "format/encoding/little_endian.h"
#include "system/file_io.h"

enum {
	SEARCH_BYTES = 1 << 16,
	/*
	 * The search for the last header goes this far back: recorders begin a member about every
	 * mebibyte.
	 */
	SEARCH_MAX_BYTES = 16 << 20,
};

static bool read_at(int fd, uint64_t at, uint8_t *to, size_t length)
{
	return gmt_file_read_at(fd, at, to, length) == length;
}

/*
 * Returns whether a header at `at` describes the member right before it, and sets `ret_member`. A
 * file may have been assembled from parts, so that the previous member is not the described one.
 * Its trailer shows that.
 */
static bool is_described_at(int fd, uint64_t at, struct gmt_member *ret_member)
{
	uint8_t bytes[GMT_MEMBER_TRAILER_BYTES + GMT_MEMBER_HEADER_BYTES];
	struct gmt_member_identity identity;

	if (at < GMT_MEMBER_TRAILER_BYTES ||
		!read_at(fd, at - GMT_MEMBER_TRAILER_BYTES, bytes, sizeof(bytes)) ||
		!gmt_member_description_read(bytes + GMT_MEMBER_TRAILER_BYTES, &ret_member->description,
			&identity))
		return false;
	if (identity.checksum != gmt_get_u32(bytes) || identity.length != gmt_get_u32(bytes + 4) ||
		identity.bytes > at || identity.bytes < GMT_MEMBER_FIXED_BYTES + GMT_MEMBER_TRAILER_BYTES)
		return false;
	ret_member->begin = at - identity.bytes;
	ret_member->end = at;
	return true;
}

/* Finds the last header in the file that describes a member. */
static bool find_last(int fd, uint64_t file_bytes, struct gmt_member *ret_member)
{
	uint64_t min = file_bytes > SEARCH_MAX_BYTES ? file_bytes - SEARCH_MAX_BYTES : 0;
	uint8_t bytes[SEARCH_BYTES + 1];

	for (uint64_t end = file_bytes; end > min;) {
		uint64_t begin = end - min > SEARCH_BYTES ? end - SEARCH_BYTES : min;
		size_t length = (size_t)(end - begin);

		/*
		 * Reads one more byte, so that the first two bytes of a header are never split between two
		 * pieces.
		 */
		length += end < file_bytes;
		if (!read_at(fd, begin, bytes, length))
			return false;
		for (size_t i = length; i-- > 1;)
			if (bytes[i] == 0x8b && bytes[i - 1] == 0x1f &&
				is_described_at(fd, begin + i - 1, ret_member))
				return true;
		end = begin;
	}
	return false;
}

static void reverse(struct gmt_members *members)
{
	for (size_t i = 0; i < members->count / 2; i++) {
		struct gmt_member *left = &members->items[i],
						  *right = &members->items[members->count - 1 - i], kept = *left;

		*left = *right;
		*right = kept;
	}
}

bool gmt_members_find(int fd, uint64_t file_bytes, struct gmt_members *ret_members)
{
	struct gmt_member member = { 0 };
	bool is_there = find_last(fd, file_bytes, &member);

	while (is_there) {
		struct gmt_member *slot = gmt_vec_push(ret_members);

		if (!slot)
			return false;
		*slot = member;
		is_there = is_described_at(fd, member.begin, &member);
	}
	reverse(ret_members);
	return true;
}

void gmt_members_fini(struct gmt_members *members)
{
	gmt_vec_fini(members);
}

/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FILE_MEMBERS_H
#define GMT_FORMAT_FILE_MEMBERS_H

/*
 * The members of a gzip file and what they say they have (member.h), found without decompressing any: from the last
 * description backwards, each says where the one before it is. In the flow: file -> members -> source, which leaves out
 * what is not wanted. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "format/file/member.h"

struct gmt_member {
	uint64_t begin, end; /* in the file */
	struct gmt_member_about about;
	bool is_left_out; /* set by who wants none of it */
};

/* Those that are described, in the order of the file, one right behind the other. What lies before and behind must be read. */
struct gmt_members { /* a GMT_VEC */
	struct gmt_member *items;
	size_t count, capacity;
};

/*
 * Of the first `file_bytes` of a file that is open for reading, whose position stays. None where nothing is described, or
 * it cannot be read. False when out of memory. `ret_members` (zeroed) is the caller's; end it with gmt_members_fini.
 */
bool gmt_members_find(int fd, uint64_t file_bytes, struct gmt_members *ret_members);

void gmt_members_fini(struct gmt_members *members);

#endif

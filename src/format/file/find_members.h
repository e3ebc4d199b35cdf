/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FILE_FIND_MEMBERS_H
#define GMT_FORMAT_FILE_FIND_MEMBERS_H

/*
 * Finds the members of a gzip file and their descriptions (member_description.h) without
 * decompression. It starts at the last description and goes backwards: each description states
 * where its member begins. In the flow: file -> members -> source, which skips unwanted members.
 * One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "format/file/member_description.h"

struct gmt_member {
	uint64_t begin, end; /* offsets in the file */
	struct gmt_member_description description;
	bool is_left_out; /* set by the caller if it wants no row of this member */
};

/*
 * The described members, in the order of the file, without gaps. The reader must read everything
 * before and after them.
 */
struct gmt_members { /* layout of a GMT_VEC */
	struct gmt_member *items;
	size_t count, capacity;
};

/*
 * Finds the members in the first `file_bytes` of a file that is open for reading. The file position
 * does not change. Returns no members if nothing is described, or if the file cannot be read.
 * Returns false when out of memory. The caller owns `ret_members` (zeroed) and ends it with
 * gmt_members_fini.
 */
bool gmt_members_find(int fd, uint64_t file_bytes, struct gmt_members *ret_members);

void gmt_members_fini(struct gmt_members *members);

#endif

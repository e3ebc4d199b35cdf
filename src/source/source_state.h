/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_SOURCE_STATE_H
#define GMT_SOURCE_SOURCE_STATE_H

/* Shared by source.c (reads blocks) and source_open.c (opens files). Internal to them. */

#include "containers/arena.h"
#include "containers/vec.h"
#include "format/encoding/block.h"
#include "format/encoding/inflate.h"
#include "source/source.h"

struct gmt_recovery;

enum { GMT_SOURCE_IN_BYTES = 64 << 10 };

struct gmt_source {
	int fd;
	const struct gmt_source_stream *stream; /* NULL: the bytes come from `fd` */
	bool is_growing;     /* a process still writes the file: its end is not the end */
	bool has_failed_read; /* the stream gave an error: `failed` is set too */
	bool is_part;        /* the caller owns the descriptor */
	/* its size; or that of the file, if has_limit */
	uint64_t part_bytes;
	/*
	 * The file ends where it ended when it was opened. Its recorder may still write, and faster
	 * than the reader reads.
	 */
	bool has_limit;
	bool in_member;      /* inside a gzip member, not between two members */
	bool is_cut;         /* the file ended inside a member */
	bool failed;         /* a read or inflate error: no more data can come */
	struct gmt_recovery *recovery; /* NULL: there is only the file */
	bool file_is_over;   /* all blocks of the file were returned */
	struct gmt_source_progress progress;
	const struct gmt_members *members; /* NULL: all members are read */
	/* index of the next member to compare with the position */
	size_t next_member;
	void *inflating;     /* the inflater's state, in the arena */
	struct gmt_inflate_bytes bytes; /* `in` as input, and the caller's output buffer */
	struct gmt_arena memory;
	/*
	 * The next block, as far as it was read. A file that is growing may end within it, and the next
	 * call of gmt_source_next continues there.
	 */
	uint8_t header[GMT_BLOCK_HEADER_BYTES];
	size_t header_bytes;
	GMT_VEC(uint8_t) payload;
	const char *path;    /* the copy at the end of this struct */
	char failure[160];   /* reason for `failed` */
	uint8_t in[GMT_SOURCE_IN_BYTES];
	char path_copy[4096];
};

/* Ends the source: it gives no more data. */
void gmt_source_fail(struct gmt_source *source, const char *why);

/*
 * Reads more of the file, behind the first `kept_bytes` of source->in. Returns false at its end or
 * on an error.
 */
bool gmt_source_add_input(struct gmt_source *source, size_t kept_bytes);

/*
 * Inflates up to `length` bytes to `to`. Returns fewer bytes at the end of the file or of its valid
 * part.
 */
size_t gmt_source_inflate(struct gmt_source *source, uint8_t *to, size_t length);

#endif

/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"
#include "source/recovery.h"
#include "source/source_state.h"

void gmt_source_fail(struct gmt_source *source, const char *why)
{
	source->failed = true;
	strncpy(source->failure, why, sizeof(source->failure) - 1);
}

/* Reads up to `bytes` more bytes. Returns as read() does. */
static int64_t read_bytes(struct gmt_source *source, uint8_t *to, size_t bytes)
{
	/* of a part; unused for a whole file */
	uint64_t left = source->part_bytes - source->progress.read_bytes;
	ssize_t got;

	errno = 0;
	if (source->stream)
		return source->stream->read(source->stream->user, to, bytes);
	if ((source->is_part || source->has_limit) && left < bytes)
		bytes = (size_t)left;
	do
		got = source->is_part ? pread(source->fd, to, bytes, (off_t)source->progress.read_bytes)
							  : read(source->fd, to, bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

bool gmt_source_add_input(struct gmt_source *source, size_t kept_bytes)
{
	int64_t got = read_bytes(source, source->in + kept_bytes, GMT_SOURCE_IN_BYTES - kept_bytes);

	/* The stream's function may be the user's. */
	if (got < 0 || got > (int64_t)(GMT_SOURCE_IN_BYTES - kept_bytes)) {
		source->has_failed_read = source->stream;
		gmt_source_fail(source, got < 0 && errno ? strerror(errno) : "a read failed");
		return false;
	}
	if (!got)
		return false;
	source->progress.read_bytes += (uint64_t)got;
	source->bytes.in = source->in;
	source->bytes.in_bytes = kept_bytes + (size_t)got;
	return true;
}

/* Skips the unwanted members that begin here. */
static void leave_out(struct gmt_source *source)
{
	const struct gmt_members *members = source->members;
	uint64_t at = source->progress.read_bytes - source->bytes.in_bytes, end = at;

	for (; members && source->next_member < members->count; source->next_member++) {
		const struct gmt_member *member = &members->items[source->next_member];

		if (member->begin > end || (member->begin == end && !member->is_left_out))
			break;
		if (member->begin == end)
			end = member->end;
	}
	if (end == at || (!source->is_part && lseek(source->fd, (off_t)end, SEEK_SET) < 0))
		return;
	source->progress.read_bytes = end;
	source->bytes.in_bytes = 0;
}

void gmt_source_leave_out(struct gmt_source *source, const struct gmt_members *members)
{
	source->members = members;
}

/* Consecutive gzip members are one stream, as for gzip itself. */
static bool begin_member(struct gmt_source *source)
{
	leave_out(source);
	if (!source->bytes.in_bytes && !gmt_source_add_input(source, 0))
		return false;
	gmt_inflate_begin(source->inflating);
	source->in_member = true;
	return true;
}

size_t gmt_source_inflate(struct gmt_source *source, uint8_t *to, size_t length)
{
	struct gmt_inflate_bytes *bytes = &source->bytes;

	bytes->out = to;
	bytes->out_bytes = length;
	while (bytes->out_bytes && !source->failed) {
		if (!source->in_member && !begin_member(source))
			break;
		/* Called without input too: the inflater may still hold earlier input. */
		switch (gmt_inflate_run(source->inflating, bytes)) {
		case GMT_INFLATE_ENDED:
			source->in_member = false;
			break;
		case GMT_INFLATE_DAMAGED:
			gmt_source_fail(source, "its compressed data is damaged");
			break;
		default:
			if (!bytes->out_bytes || bytes->in_bytes)
				break;
			if (!gmt_source_add_input(source, 0)) {
				source->is_cut = !source->failed && !source->is_growing;
				return length - bytes->out_bytes;
			}
		}
	}
	return length - bytes->out_bytes;
}

bool gmt_source_is_cut(const struct gmt_source *source)
{
	return source->is_cut;
}

#define CUT "it ends in the middle: the process was killed, or the file was cut"

static enum gmt_status damaged(const struct gmt_source *source, const char *what,
	struct gmt_error *error)
{
	if (source->has_failed_read)
		return gmt_error_set(error, GMT_NO_FILE, "%s", source->failure);
	return gmt_error_set(error, GMT_DAMAGED, "%s",
		source->is_cut       ? CUT
			: source->failed ? source->failure
							 : what);
}

/* The result when the file ends within a block. */
static enum gmt_status ended(const struct gmt_source *source, struct gmt_error *error)
{
	return source->is_growing && !source->failed ? GMT_END : damaged(source, CUT, error);
}

/*
 * Reads the rest of source->payload in steps, so that a small file with a huge stated length does
 * not cost much memory.
 */
static enum gmt_status read_payload(struct gmt_source *source, size_t length,
	struct gmt_error *error)
{
	size_t got, want;

	do {
		size_t done = source->payload.count;

		want = done < GMT_SOURCE_IN_BYTES ? GMT_SOURCE_IN_BYTES : done;
		if (want > length - done)
			want = length - done;
		if (!gmt_vec_reserve(&source->payload, want + 1))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		got = gmt_source_inflate(source, source->payload.items + done, want);
		source->payload.count += got;
	} while (got == want && source->payload.count < length);
	return got == want ? GMT_OK : ended(source, error);
}

static enum gmt_status next_of_file(struct gmt_source *source, struct gmt_block *ret_block,
	struct gmt_error *error)
{
	source->header_bytes += gmt_source_inflate(source, source->header + source->header_bytes,
		sizeof(source->header) - source->header_bytes);
	if (!source->header_bytes && !source->failed && !source->in_member && !source->is_cut)
		return GMT_END;
	if (source->header_bytes < sizeof(source->header))
		return ended(source, error);

	struct gmt_block block;
	if (!gmt_block_read_header(source->header, &block))
		return damaged(source, "a block in it has an impossible size", error);

	enum gmt_status status = read_payload(source, block.size_bytes, error);
	if (status)
		return status;
	block.payload = source->payload.items;
	if (!gmt_block_is_intact(source->header, &block))
		return damaged(source, "a block in it has a wrong checksum", error);
	source->header_bytes = 0;
	source->payload.count = 0;
	*ret_block = block;
	return GMT_OK;
}

enum gmt_status gmt_source_next(struct gmt_source *source, struct gmt_block *ret_block,
	struct gmt_error *error)
{
	enum gmt_status status;

	if (!source->recovery)
		return next_of_file(source, ret_block, error);
	if (!source->file_is_over) {
		status = next_of_file(source, ret_block, error);
		if (!status)
			return gmt_recovery_note_block(source->recovery, ret_block, error);
		if (status != GMT_END && status != GMT_DAMAGED)
			return status;
		source->file_is_over = true;
	}
	return gmt_recovery_next(source->recovery, ret_block, error);
}

struct gmt_source_recovered gmt_source_recovered(const struct gmt_source *source)
{
	return source->recovery ? gmt_recovery_result(source->recovery)
							: (struct gmt_source_recovered){ 0 };
}

struct gmt_source_progress gmt_source_progress(const struct gmt_source *source)
{
	return source->progress;
}

void gmt_source_close(struct gmt_source *source)
{
	if (!source)
		return;
	if (source->fd >= 0 && !source->is_part)
		close(source->fd);
	gmt_recovery_free(source->recovery);
	gmt_arena_fini(&source->memory);
	gmt_vec_fini(&source->payload);
	gmt_pages_free(source, sizeof(*source));
}

/* SPDX-License-Identifier: MIT */
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "containers/arena.h"
#include "base/pages.h"
#include "containers/vec.h"
#include "format/format.h"
#include "format/encoding/inflate.h"
#include "format/encoding/little_endian.h"
#include "source/recovery.h"

enum { IN_BYTES = 64 << 10 };

struct gmt_source {
	int fd;
	const struct gmt_source_stream *stream; /* NULL: the bytes come from `fd` */
	bool has_failed_read; /* the stream gave an error: `failed` is set too */
	bool is_part;        /* the caller owns the descriptor */
	uint64_t part_bytes;
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
	GMT_VEC(uint8_t) payload;
	const char *path;    /* the copy at the end of this struct */
	char failure[160];   /* reason for `failed` */
	uint8_t in[IN_BYTES];
	char path_copy[4096];
};

static void fail(struct gmt_source *source, const char *why)
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
	do
		got = source->is_part
			? pread(source->fd, to, left < bytes ? left : bytes, (off_t)source->progress.read_bytes)
			: read(source->fd, to, bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

/*
 * Reads more of the file, behind the first `kept_bytes` of source->in. Returns false at its end or
 * on an error.
 */
static bool add_input(struct gmt_source *source, size_t kept_bytes)
{
	int64_t got = read_bytes(source, source->in + kept_bytes, IN_BYTES - kept_bytes);

	/* The stream's function may be the user's. */
	if (got < 0 || got > (int64_t)(IN_BYTES - kept_bytes)) {
		source->has_failed_read = source->stream;
		fail(source, got < 0 && errno ? strerror(errno) : "a read failed");
		return false;
	}
	if (!got)
		return false;
	source->progress.read_bytes += (uint64_t)got;
	source->bytes.in = source->in;
	source->bytes.in_bytes = kept_bytes + (size_t)got;
	return true;
}

/* Reads more of the file, when all of source->in was used. */
static bool fill_input(struct gmt_source *source)
{
	return add_input(source, 0);
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
	if (!source->bytes.in_bytes && !fill_input(source))
		return false;
	gmt_inflate_begin(source->inflating);
	source->in_member = true;
	return true;
}

/*
 * Inflates up to `length` bytes to `to`. Returns fewer bytes at the end of the file or of its valid
 * part.
 */
static size_t inflate_some(struct gmt_source *source, uint8_t *to, size_t length)
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
			fail(source, "its compressed data is damaged");
			break;
		default:
			if (!bytes->out_bytes || bytes->in_bytes)
				break;
			if (!fill_input(source)) {
				source->is_cut = !source->failed;
				return length - bytes->out_bytes;
			}
		}
	}
	return length - bytes->out_bytes;
}

static enum gmt_status open_file(struct gmt_source *source, struct gmt_error *error)
{
	struct stat status;

	if (source->fd < 0)
		source->fd = open(source->path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0)
		return gmt_error_set(error, GMT_NO_FILE, "%s: %s", source->path, strerror(errno));
	if (fstat(source->fd, &status))
		return gmt_error_set(error, GMT_NO_FILE, "%s: %s", source->path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return gmt_error_set(error, GMT_NO_FILE, "%s: is a directory, not a recording",
			source->path);
	if (S_ISREG(status.st_mode) && !status.st_size)
		return gmt_error_set(error, GMT_FORMAT,
			"%s: is empty: the recording ended before anything was written", source->path);
	source->progress.file_bytes = (uint64_t)status.st_size;
	return GMT_OK;
}

static enum gmt_status check_header(struct gmt_source *source, struct gmt_error *error)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	bool is_all, is_ours, is_whole;

	/* A pipe may give one byte at first. */
	if (!fill_input(source) ||
		(source->bytes.in_bytes < 2 && !add_input(source, 1) && source->failed))
		return gmt_error_set(error, source->has_failed_read ? GMT_NO_FILE : GMT_FORMAT,
			source->has_failed_read ? "%s: cannot be read: %s" : "%s: %s", source->path,
			source->failed ? source->failure : "is empty");
	if (source->bytes.in_bytes < 2 || source->in[0] != 0x1f || source->in[1] != 0x8b)
		return gmt_error_set(error, GMT_FORMAT,
			"%s: is not a gzip file, so not a gpumemtrace recording", source->path);
	is_all = inflate_some(source, header, sizeof(header)) == sizeof(header);
	is_ours = is_all && memcmp(header, GMT_FORMAT_MAGIC, 8) == 0;
	is_whole = is_all && gmt_get_u32(header + 16) == gmt_checksum(0, header, 16);
	if (!is_all || (source->is_cut && !(is_ours && is_whole)))
		return gmt_error_set(error, source->has_failed_read ? GMT_NO_FILE : GMT_FORMAT,
			"%s: cannot be read: %s", source->path,
			source->failed && !source->is_cut ? source->failure : "it ends within its header");
	if (!is_ours)
		return gmt_error_set(error, GMT_FORMAT, "%s: is gzip, but not a gpumemtrace recording",
			source->path);
	if (!is_whole)
		return gmt_error_set(error, GMT_FORMAT, "%s: its header is damaged", source->path);
	if (gmt_get_u16(header + 8) > GMT_FORMAT_MAJOR ||
		(gmt_get_u32(header + 12) & ~(uint32_t)GMT_FEATURES_KNOWN))
		return gmt_error_set(error, GMT_VERSION,
			"%s: has format %u.%u (features %#x), but this gpumemtrace reads %d.x: use a newer "
			"gpumemtrace",
			source->path, gmt_get_u16(header + 8), gmt_get_u16(header + 10),
			gmt_get_u32(header + 12), GMT_FORMAT_MAJOR);
	return GMT_OK;
}

/* Makes a source without the file and the fields that depend on it. */
static enum gmt_status make(const char *path, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	struct gmt_source *source;

	*ret_source = NULL;
	if (path && strlen(path) >= sizeof(source->path_copy))
		return gmt_error_set(error, GMT_NO_FILE, "%.64s...: %s", path, strerror(ENAMETOOLONG));
	source = gmt_pages_grow(NULL, 0, sizeof(*source));
	if (!source)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	source->path = strcpy(source->path_copy, path ? path : "");
	source->fd = -1;
	source->in_member = true;
	source->inflating = gmt_inflate_open(&source->memory);
	if (!source->inflating) {
		gmt_source_close(source);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	gmt_inflate_begin(source->inflating);
	*ret_source = source;
	return GMT_OK;
}

enum gmt_status gmt_source_open_part(int fd, uint64_t end_bytes, const char *path,
	struct gmt_source **ret_source, struct gmt_error *error)
{
	struct gmt_source *source;
	enum gmt_status status = make(path, &source, error);

	*ret_source = NULL;
	if (status)
		return status;
	source->is_part = true;
	source->fd = fd;
	source->part_bytes = source->progress.file_bytes = end_bytes;
	status = check_header(source, error);
	if (status)
		gmt_source_close(source);
	else
		*ret_source = source;
	return status;
}

enum gmt_status gmt_source_open_stream(const struct gmt_source_stream *stream,
	struct gmt_source **ret_source, struct gmt_error *error)
{
	struct gmt_source *source;
	enum gmt_status status = make(stream->name, &source, error);

	*ret_source = NULL;
	if (status)
		return status;
	source->stream = stream;
	status = check_header(source, error);
	if (status)
		gmt_source_close(source);
	else
		*ret_source = source;
	return status;
}

bool gmt_source_is_for_thread(const struct gmt_source *source, uint64_t bytes)
{
	return source->stream ? source->stream->is_for_any_thread
						  : !source->file_is_over &&
			(!source->progress.file_bytes || source->progress.file_bytes >= bytes);
}

/* Opens the file and reads its header. */
static enum gmt_status begin(struct gmt_source *source, const char *path, struct gmt_error *error)
{
	enum gmt_status status;

	if (!path) {
		source->file_is_over = true;
		return GMT_OK;
	}
	status = open_file(source, error);
	if (!status)
		status = check_header(source, error);
	/* A recorder that was killed in its first second may have written nothing. */
	if (source->recovery && (status == GMT_FORMAT || status == GMT_NO_FILE)) {
		source->file_is_over = true;
		return GMT_OK;
	}
	return status;
}

enum gmt_status gmt_source_open(const char *path, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	return gmt_source_open_with(path, NULL, ret_source, error);
}

enum gmt_status gmt_source_open_with(const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	return gmt_source_open_descriptor(-1, path, shared_recording, ret_source, error);
}

enum gmt_status gmt_source_open_descriptor(int fd, const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	struct gmt_source *source;
	enum gmt_status status = make(path, &source, error);

	*ret_source = NULL;
	if (status)
		return status;
	/* The duplicate shares its position with the caller's descriptor. */
	if (fd >= 0 &&
		((source->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0 || lseek(source->fd, 0, SEEK_SET) < 0)) {
		gmt_error_set(error, GMT_NO_FILE, "%s: %s", path, strerror(errno));
		gmt_source_close(source);
		return GMT_NO_FILE;
	}
	source->recovery = shared_recording ? gmt_recovery_new(shared_recording) : NULL;
	if (shared_recording && !source->recovery)
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	else
		status = begin(source, path, error);
	if (status) {
		gmt_source_close(source);
		return status;
	}
	*ret_source = source;
	return GMT_OK;
}

bool gmt_source_is_just_begun(int fd)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	struct gmt_source *source;
	struct stat status;
	size_t got;
	bool is_begun;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return false;
	if (!status.st_size)
		return true;
	if (make(NULL, &source, NULL))
		return false;
	source->fd = fd;
	source->is_part = true;
	source->part_bytes = (uint64_t)status.st_size;
	is_begun = fill_input(source) && source->in[0] == 0x1f &&
		(source->bytes.in_bytes < 2 || source->in[1] == 0x8b);
	got = is_begun ? inflate_some(source, header, sizeof(header)) : 0;
	is_begun = is_begun && got < sizeof(header) && source->is_cut &&
		!memcmp(header, GMT_FORMAT_MAGIC, got < 8 ? got : 8);
	gmt_source_close(source);
	return is_begun;
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

/*
 * Reads into source->payload in steps, so that a small file with a huge stated length does not cost
 * much memory.
 */
static enum gmt_status read_payload(struct gmt_source *source, size_t length,
	struct gmt_error *error)
{
	size_t got, want;

	source->payload.count = 0;
	do {
		size_t done = source->payload.count;

		want = done < IN_BYTES ? IN_BYTES : done;
		if (want > length - done)
			want = length - done;
		if (!gmt_vec_reserve(&source->payload, want + 1))
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		got = inflate_some(source, source->payload.items + done, want);
		source->payload.count += got;
	} while (got == want && source->payload.count < length);
	return got == want ? GMT_OK : damaged(source, CUT, error);
}

static enum gmt_status next_of_file(struct gmt_source *source, struct gmt_block *ret_block,
	struct gmt_error *error)
{
	uint8_t header[GMT_BLOCK_HEADER_BYTES];
	size_t got = inflate_some(source, header, sizeof(header));

	if (!got && !source->failed && !source->in_member && !source->is_cut)
		return GMT_END;
	if (got < sizeof(header))
		return damaged(source, CUT, error);

	struct gmt_block block;
	if (!gmt_block_read_header(header, &block))
		return damaged(source, "a block in it has an impossible size", error);

	enum gmt_status status = read_payload(source, block.size_bytes, error);
	if (status)
		return status;
	block.payload = source->payload.items;
	if (!gmt_block_is_intact(header, &block))
		return damaged(source, "a block in it has a wrong checksum", error);
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

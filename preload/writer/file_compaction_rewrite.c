/* SPDX-License-Identifier: MIT */
#include "writer/file_compaction_rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/file_io.h"
#include "producer/clock.h"

enum {
	GZIP_LEVEL = 1,
	ROWS_AT_A_TIME = 2048,     /* each takes much less than a millisecond */
	COPY_BYTES = 128 << 10,
	/* Events kept in detail when the whole recording is compacted at its end. */
	END_EVENTS = 16384,
	/* The last step copies at most so many bytes, because the writer empties no ring meanwhile. */
	READY_BYTES = 512 << 10,
};

static bool fail(struct gmt_file_compaction_rewrite *rewrite, const char *why)
{
	/*
	 * A reason that is already in rewrite->why stays: snprintf of a buffer into itself would
	 * destroy it.
	 */
	if (why != rewrite->why)
		snprintf(rewrite->why, sizeof(rewrite->why), "%s", why);
	gmt_file_compaction_rewrite_drop(rewrite);
	return false;
}

static bool write_rows(void *user, uint32_t kind, const void *rows, uint32_t count)
{
	struct gmt_file_compaction_rewrite *rewrite = user;
	struct gmt_error error;
	enum gmt_status status = gmt_encode_rows(&rewrite->encoder, kind, rows, count, &error);

	if (!status)
		status = gmt_sink_push(rewrite->sink, rewrite->encoder.block.items,
			rewrite->encoder.block.count, &error);
	if (status)
		snprintf(rewrite->why, sizeof(rewrite->why), "%.255s", error.text);
	return !status;
}

static bool open_all(struct gmt_file_compaction_rewrite *rewrite, uint64_t cut_stamp,
	uint64_t published_until_stamp, const char *why)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	struct gmt_compact_options options = {
		.cut_stamp = cut_stamp,
		.published_until_stamp = published_until_stamp,
		.max_tail_events = cut_stamp == UINT64_MAX ? END_EVENTS : 0,
		.why = why,
		.write = write_rows,
		.user = rewrite,
	};
	struct gmt_error error;

	gmt_encode_file_header(header);
	return (!gmt_sink_open(rewrite->replacement.fd, GZIP_LEVEL, &rewrite->sink, &error) &&
			   !gmt_sink_push(rewrite->sink, header, sizeof(header), &error) &&
			   !gmt_source_open_part(rewrite->recording->fd, rewrite->part_bytes,
				   rewrite->recording->path, &rewrite->source, &error) &&
			   !gmt_compact_open(&options, &rewrite->compactor, &error)) ||
		fail(rewrite, error.text);
}

bool gmt_file_compaction_rewrite_begin(struct gmt_file_compaction_rewrite *rewrite,
	struct gmt_recording_state *recording, uint64_t part_bytes, uint64_t cut_stamp,
	uint64_t published_until_stamp, const char *why, bool flushes)
{
	memset(rewrite, 0, sizeof(*rewrite));
	rewrite->flushes = flushes;
	rewrite->recording = recording;
	rewrite->part_bytes = rewrite->copied_bytes = part_bytes;
	if (!gmt_replacement_open(&rewrite->replacement, recording->fd, &recording->file, rewrite->why,
			sizeof(rewrite->why)))
		return false;
	rewrite->phase = GMT_REWRITE_READ;
	return open_all(rewrite, cut_stamp, published_until_stamp, why);
}

/* Reads one block of the old file, or first does pending work of the compactor. */
static bool read_some(struct gmt_file_compaction_rewrite *rewrite)
{
	struct gmt_block block;
	struct gmt_error error;
	const void *rows;

	if (gmt_compact_work(rewrite->compactor, ROWS_AT_A_TIME))
		return true;
	if (gmt_compact_failed(rewrite->compactor))
		return fail(rewrite, rewrite->why[0] ? rewrite->why : "out of memory");

	enum gmt_status status = gmt_source_next(rewrite->source, &block, &error);
	if (status == GMT_END) {
		gmt_compact_finish(rewrite->compactor);
		rewrite->phase = GMT_REWRITE_FINISH;
		return true;
	}
	if (!status && gmt_record_info(block.kind)) {
		status = gmt_decode_rows(&rewrite->decoder, &block, &rows, &error);
		if (!status)
			gmt_compact_rows(rewrite->compactor, block.kind, rows, block.rows);
	}
	return !status || fail(rewrite, error.text);
}

static bool finish_some(struct gmt_file_compaction_rewrite *rewrite)
{
	struct gmt_error error;

	if (gmt_compact_work(rewrite->compactor, ROWS_AT_A_TIME))
		return true;
	if (gmt_compact_failed(rewrite->compactor))
		return fail(rewrite, rewrite->why[0] ? rewrite->why : "out of memory");
	rewrite->compacted_events = gmt_compact_compacted_events(rewrite->compactor);
	/* End the gzip member, so that the old members can follow unchanged. */
	if (gmt_sink_end_member(rewrite->sink, NULL, &error))
		return fail(rewrite, error.text);
	rewrite->prefix_bytes = gmt_sink_written_bytes(rewrite->sink);
	rewrite->phase = GMT_REWRITE_COPY;
	return true;
}

static bool write_all(struct gmt_file_compaction_rewrite *rewrite, const char *bytes, size_t length)
{
	uint64_t at = rewrite->prefix_bytes + rewrite->copied_bytes - rewrite->part_bytes;

	if (!gmt_file_write_at(rewrite->replacement.fd, at, bytes, length))
		return fail(rewrite, strerror(errno));
	rewrite->copied_bytes += length;
	return true;
}

/* Copies at most COPY_BYTES of the old file, up to the offset `file_bytes`. */
static bool copy_some(struct gmt_file_compaction_rewrite *rewrite, uint64_t file_bytes)
{
	static char bytes[COPY_BYTES]; /* only the writer's thread uses it */
	uint64_t left = file_bytes - rewrite->copied_bytes;
	ssize_t got;

	/* The program may have closed the recorder's descriptors (system/file_identity.h). */
	if (!gmt_file_identity_matches(rewrite->recording->fd, &rewrite->recording->file) ||
		!gmt_file_identity_matches(rewrite->replacement.fd, &rewrite->replacement.file))
		return fail(rewrite, "the program closed the recorder's file descriptor");
	do
		got = pread(rewrite->recording->fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes),
			(off_t)rewrite->copied_bytes);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return fail(rewrite, got ? strerror(errno) : "the file was truncated");
	return write_all(rewrite, bytes, (size_t)got);
}

/*
 * Flushes the new file to the disk before it replaces the old file. A rename may reach the disk
 * before the data. After a loss of power there would then be an empty file, and the old file of
 * perhaps a week would be lost.
 *
 * A flush may take any time, and the writer empties no ring meanwhile. So each compaction flushes
 * only once, between two slices, when nearly everything is written. Data that is copied later is as
 * safe as data that is appended to any recording. A loss of power costs the end of the file. If the
 * flush takes long, later compactions of the recording do not flush (file_compaction.c).
 *
 * Some file systems (NFS, or those that allocate space late) report a write error only here. The
 * old file then stays. Other errors mean that this file system, or a filter for system calls, does
 * not support fdatasync.
 */
static bool flush(struct gmt_file_compaction_rewrite *rewrite)
{
	uint64_t start_ns = gmt_clock_monotonic_ns();
	bool is_lost = gmt_file_identity_matches(rewrite->replacement.fd, &rewrite->replacement.file) &&
		fdatasync(rewrite->replacement.fd) &&
		(errno == EIO || errno == ENOSPC || errno == EDQUOT || errno == ESTALE);

	if (is_lost)
		return fail(rewrite, strerror(errno));
	rewrite->is_flushed = true;
	rewrite->flush_ns = gmt_clock_monotonic_ns() - start_ns;
	return true;
}

enum gmt_file_compaction_rewrite_state gmt_file_compaction_rewrite_work(
	struct gmt_file_compaction_rewrite *rewrite, uint64_t file_bytes, uint64_t limit_bytes,
	uint64_t budget_ns)
{
	uint64_t deadline_ns = gmt_clock_monotonic_ns() + budget_ns;
	bool continues = true;

	do {
		if (gmt_file_compaction_rewrite_bytes(rewrite) > limit_bytes) {
			rewrite->found_no_room = true;
			if (!rewrite->prefix_bytes)
				rewrite->prefix_bytes = gmt_file_compaction_rewrite_bytes(rewrite);
			fail(rewrite, "the new file does not fit into max_size");
			return GMT_REWRITE_FAILED;
		}
		if (rewrite->phase == GMT_REWRITE_READ)
			continues = read_some(rewrite);
		else if (rewrite->phase == GMT_REWRITE_FINISH)
			continues = finish_some(rewrite);
		else if (file_bytes - rewrite->copied_bytes > READY_BYTES)
			continues = copy_some(rewrite, file_bytes);
		else if (!rewrite->flushes || rewrite->is_flushed)
			return GMT_REWRITE_IS_READY;
		else
			return flush(rewrite) ? GMT_REWRITE_CONTINUES : GMT_REWRITE_FAILED;
	} while (continues && gmt_clock_monotonic_ns() < deadline_ns);
	return continues ? GMT_REWRITE_CONTINUES : GMT_REWRITE_FAILED;
}

/* Closes everything except the files. */
static void close_all(struct gmt_file_compaction_rewrite *rewrite)
{
	gmt_source_close(rewrite->source);
	gmt_compact_close(rewrite->compactor);
	gmt_sink_abandon(rewrite->sink);
	gmt_decoder_fini(&rewrite->decoder);
	gmt_encoder_fini(&rewrite->encoder);
	rewrite->source = NULL;
	rewrite->compactor = NULL;
	rewrite->sink = NULL;
	rewrite->phase = GMT_REWRITE_NONE;
}

bool gmt_file_compaction_rewrite_take_place(struct gmt_file_compaction_rewrite *rewrite,
	struct gmt_stream *stream)
{
	struct gmt_recording_state *recording = rewrite->recording;
	struct gmt_shared_recording_owner *owner = &recording->memory->header->owner;
	uint64_t file_bytes = gmt_sink_written_bytes(stream->sink);
	uint64_t new_bytes = rewrite->prefix_bytes + file_bytes - rewrite->part_bytes;

	while (rewrite->copied_bytes < file_bytes)
		if (!copy_some(rewrite, file_bytes))
			return false;
	if (lseek(rewrite->replacement.fd, (off_t)new_bytes, SEEK_SET) < 0)
		return fail(rewrite, strerror(errno));
	/*
	 * If the process is killed between these steps, the memory must still be recognized as
	 * belonging to both files.
	 */
	atomic_store(&owner->is_being_replaced, 1);
	if (!gmt_replacement_take_place(&rewrite->replacement, recording->fd, &recording->file,
			rewrite->why, sizeof(rewrite->why))) {
		atomic_store(&owner->is_being_replaced, 0);
		return fail(rewrite, rewrite->why);
	}
	/*
	 * From here on the new file is the recording. dup3 keeps the descriptor's number, so at every
	 * moment the number refers to one of the two files. If no further descriptor is available, the
	 * recording takes over the temporary file's number.
	 */
	if (dup3(rewrite->replacement.fd, recording->fd, O_CLOEXEC) < 0) {
		close(recording->fd);
		recording->fd = rewrite->replacement.fd;
		rewrite->replacement.is_open = false;
	}
	recording->file = rewrite->replacement.file;
	owner->file_device = recording->file.device;
	owner->file_inode = recording->file.inode;
	atomic_store(&owner->is_being_replaced, 0);
	gmt_sink_move(stream->sink, recording->fd, new_bytes);
	gmt_replacement_forget(&rewrite->replacement);
	close_all(rewrite);
	return true;
}

uint64_t gmt_file_compaction_rewrite_bytes(const struct gmt_file_compaction_rewrite *rewrite)
{
	switch (rewrite->phase) {
	case GMT_REWRITE_NONE:
		return 0;
	case GMT_REWRITE_COPY:
		return rewrite->prefix_bytes + rewrite->copied_bytes - rewrite->part_bytes;
	default:
		return gmt_sink_written_bytes(rewrite->sink);
	}
}

void gmt_file_compaction_rewrite_drop(struct gmt_file_compaction_rewrite *rewrite)
{
	gmt_replacement_remove(&rewrite->replacement);
	close_all(rewrite);
}

void gmt_file_compaction_rewrite_forget(struct gmt_file_compaction_rewrite *rewrite)
{
	gmt_replacement_forget(&rewrite->replacement);
	rewrite->phase = GMT_REWRITE_NONE;
}

/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_FILE_COMPACTION_REWRITE_H
#define GMT_WRITER_FILE_COMPACTION_REWRITE_H

/*
 * Replaces the first part of the file by a compacted prefix, while the stream is writing the file:
 *
 * 1. It reads the first part of the file, which ends at the end of a gzip member. It compacts this
 *    part (compaction/compact.h) and writes the result to a temporary file next to the recording.
 * 2. It copies everything behind that part unchanged, including what the stream writes meanwhile.
 * 3. The temporary file replaces the old file, and the stream continues in it.
 *
 * The writer's thread does this in slices and empties the rings between them. At any moment the
 * path refers to a complete file.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "compaction/compact.h"
#include "files/replacement.h"
#include "writer/recording_state.h"
#include "writer/stream.h"
#include "format/encoding/decode_rows.h"
#include "format/encoding/encode_rows.h"
#include "format/file/sink.h"
#include "source/source.h"

enum gmt_file_compaction_rewrite_phase {
	GMT_REWRITE_NONE,
	GMT_REWRITE_READ,   /* reads and compacts the first part */
	GMT_REWRITE_FINISH, /* the compactor writes its remaining rows */
	GMT_REWRITE_COPY,
};

/* Zero-initialised: no compaction is running. */
struct gmt_file_compaction_rewrite {
	enum gmt_file_compaction_rewrite_phase phase;
	struct gmt_recording_state *recording;
	struct gmt_replacement replacement;
	struct gmt_source *source;
	struct gmt_decoder decoder;
	struct gmt_compactor *compactor;
	struct gmt_encoder encoder;
	struct gmt_sink *sink;  /* writes the new file's compacted prefix */
	uint64_t part_bytes;    /* size of the old file's part that is compacted */
	uint64_t copied_bytes;  /* offset in the old file up to which data is copied */
	uint64_t prefix_bytes; /* size of the new file's compacted prefix, before the copied part */
	uint64_t compacted_events; /* number of events that the new file contains only as totals */
	bool flushes; /* flush the new file to the disk before it replaces the old one */
	bool is_flushed;
	uint64_t flush_ns; /* time that the flush took */
	/*
	 * The compaction failed because of max_size. prefix_bytes is then the minimum size of the
	 * prefix.
	 */
	bool found_no_room;
	char why[256]; /* reason of the failure */
};

enum gmt_file_compaction_rewrite_state {
	GMT_REWRITE_CONTINUES,
	GMT_REWRITE_IS_READY,
	GMT_REWRITE_FAILED
};

/*
 * Begins a compaction of the first `part_bytes` of the file, up to `cut_stamp`.
 * compaction/compact.h explains `published_until_stamp`. `why` is the reason for the compaction and
 * is written to the file. For `flushes`, see rewrite->flushes. Must not be called while a
 * compaction is running. On failure returns false with the reason in rewrite->why.
 */
bool gmt_file_compaction_rewrite_begin(struct gmt_file_compaction_rewrite *rewrite,
	struct gmt_recording_state *recording, uint64_t part_bytes, uint64_t cut_stamp,
	uint64_t published_until_stamp, const char *why, bool flushes);

/*
 * Works for about `budget_ns`. `file_bytes` is the current length of the old file. `limit_bytes` is
 * the maximum size of the new file. Ready: little is left to copy. Failed: everything is cleaned
 * up, and rewrite->why has the reason.
 */
enum gmt_file_compaction_rewrite_state gmt_file_compaction_rewrite_work(
	struct gmt_file_compaction_rewrite *rewrite, uint64_t file_bytes, uint64_t limit_bytes,
	uint64_t budget_ns);

/*
 * Copies the rest, replaces the old file with the new one, and moves the stream to the new file.
 * Called directly behind a sync point of the stream, after gmt_file_compaction_rewrite_work has
 * returned GMT_REWRITE_IS_READY. On failure returns false with the reason in rewrite->why; the old
 * file is unchanged.
 */
bool gmt_file_compaction_rewrite_take_place(struct gmt_file_compaction_rewrite *rewrite,
	struct gmt_stream *stream);

/* Returns the current size of the new file in bytes. Returns 0 if there is no new file. */
uint64_t gmt_file_compaction_rewrite_bytes(const struct gmt_file_compaction_rewrite *rewrite);

/* Cancels the compaction and removes the temporary file. */
void gmt_file_compaction_rewrite_drop(struct gmt_file_compaction_rewrite *rewrite);

/*
 * Closes the temporary file without removing it, because it belongs to the parent. Called in the
 * child of a fork.
 */
void gmt_file_compaction_rewrite_forget(struct gmt_file_compaction_rewrite *rewrite);

#endif

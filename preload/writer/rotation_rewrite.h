/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_ROTATION_REWRITE_H
#define GMT_WRITER_ROTATION_REWRITE_H

/*
 * Makes the file smaller while it is being written: its first part, which ends where a member of gzip's does, is
 * read, folded (compaction/compact.h) and written to a file beside it; all behind that is copied as it is, also what
 * the stream writes meanwhile; then the file beside takes the place of the old one, and the stream goes
 * on in it. In slices, in the writer's thread, so that rings are emptied in between. At any moment there is a
 * whole file at the path.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "compaction/compact.h"
#include "writer/replacement.h"
#include "writer/recording.h"
#include "writer/stream.h"
#include "format/encoding/decode.h"
#include "format/encoding/encode.h"
#include "format/file/sink.h"
#include "source/source.h"

enum gmt_rotation_rewrite_phase {
	GMT_REWRITE_NONE,
	GMT_REWRITE_READ,   /* and fold */
	GMT_REWRITE_FINISH, /* the fold writes what is left */
	GMT_REWRITE_COPY,
};

/* Zero-initialised: none under way. */
struct gmt_rotation_rewrite {
	enum gmt_rotation_rewrite_phase phase;
	struct gmt_recording *recording;
	struct gmt_replacement beside;
	struct gmt_source *source;
	struct gmt_decoder decoder;
	struct gmt_compactor *fold;
	struct gmt_encoder encoder;
	struct gmt_sink *sink;  /* of the new head */
	uint64_t part_bytes;    /* of the old file, which are folded */
	uint64_t copied_bytes;  /* where in the old file copying is */
	uint64_t head_bytes;    /* of the new file, in front of what is copied */
	uint64_t folded_events; /* that the new file has in totals only */
	bool flushes;           /* the new file is to be on the disk before it takes the old one's place */
	bool is_flushed;
	uint64_t flush_ns;      /* what that took */
	bool found_no_room;     /* it failed within max_size; head_bytes is then what the head has at least */
	char why[256];          /* it failed */
};

enum gmt_rotation_rewrite_state { GMT_REWRITE_GOES_ON, GMT_REWRITE_IS_READY, GMT_REWRITE_FAILED };

/*
 * Begins: the first `part_bytes` are folded up to `cut_stamp` (`sure_stamp`: see compaction/compact.h), for the reason `why`, which is
 * written into the file. `flushes`: see rewrite->flushes. Never while one is under way. False with the reason in rewrite->why.
 */
bool gmt_rotation_rewrite_begin(struct gmt_rotation_rewrite *rewrite, struct gmt_recording *recording, uint64_t part_bytes,
	uint64_t cut_stamp, uint64_t sure_stamp, const char *why, bool flushes);

/*
 * Works for about `budget_ns`. `file_bytes` is how long the old file is now, `limit_bytes` what the new one may
 * be. Ready: little is left to copy. Failed: all is cleared away and the reason is in rewrite->why.
 */
enum gmt_rotation_rewrite_state gmt_rotation_rewrite_work(struct gmt_rotation_rewrite *rewrite, uint64_t file_bytes, uint64_t limit_bytes,
	uint64_t budget_ns);

/*
 * Right behind a sync point of the stream, when ready: copies the rest, and the stream goes on in the new file.
 * False with the reason in rewrite->why: all is as before.
 */
bool gmt_rotation_rewrite_take_place(struct gmt_rotation_rewrite *rewrite, struct gmt_stream *stream);

/* Bytes of the new file so far; 0 when there is none. */
uint64_t gmt_rotation_rewrite_bytes(const struct gmt_rotation_rewrite *rewrite);

/* Gives up. */
void gmt_rotation_rewrite_drop(struct gmt_rotation_rewrite *rewrite);

/* In the child of a fork: the file is the parent's. */
void gmt_rotation_rewrite_forget(struct gmt_rotation_rewrite *rewrite);

#endif

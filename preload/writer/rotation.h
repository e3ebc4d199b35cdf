/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_ROTATION_H
#define GMT_WRITER_ROTATION_H

/*
 * Keeps the file within its bounds: decides what of it is folded (writer/rotation_rewrite.h) and when. docs/bounds.md says
 * what the modes keep. Used by the writer's thread alone, but for gmt_rotation_forget.
 */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/config.h"
#include "writer/rotation_rewrite.h"
#include "writer/stream.h"

enum { GMT_ROTATE_CUTS = 64 };

/* A place where the file can be cut: a member of gzip ends there, right behind a sync point. */
struct gmt_rotation_cut {
	uint64_t bytes;  /* of the file in front of it */
	uint64_t events; /* recorded until then, as gmt_stream counts them */
	uint64_t steps;
	uint64_t stamp;  /* nearly all that is older is in front of it */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

struct gmt_rotate {
	struct gmt_recording *recording;
	struct gmt_stream *stream;
	enum gmt_mode mode;          /* a full recording becomes a window */
	struct gmt_window window;
	uint64_t max_size_bytes;
	bool fits_only;              /* a window as large as max_size allows */
	struct gmt_rotation_cut start; /* what follows is there in detail */
	struct gmt_rotation_cut cuts[GMT_ROTATE_CUTS]; /* the oldest first */
	uint32_t cut_count;
	uint32_t cut_under_way;      /* the cuts in front of it go with the fold that is under way */
	uint64_t head_bytes;         /* at least so much will a fold's result have in front of what is copied */
	bool is_tight;               /* the last fold found no room: the next one keeps as little as can be */
	uint64_t not_before_ns;      /* a fold failed: the next try */
	bool told_failure, told_short;
	bool is_flush_slow;          /* the disk has taken its time for a new file */
	uint64_t folds;
	struct gmt_rotation_rewrite rewrite;
};

/* `recording` and `stream` outlive it; the stream was just opened. */
void gmt_rotation_init(struct gmt_rotate *rotate, struct gmt_recording *recording, struct gmt_stream *stream);

/* Whether a sync point would be good now, for a cut. */
bool gmt_rotation_wants_sync(const struct gmt_rotate *rotate);

/* Right behind a sync point, for which the rings were emptied; `stamp` was taken before that. */
void gmt_rotation_synced(struct gmt_rotate *rotate, uint64_t stamp);

/* A few milliseconds of what is to be done. True while there is more: then soon again. */
bool gmt_rotation_work(struct gmt_rotate *rotate);

/*
 * The disk takes nothing: gives up the file beside, if there is one. True when there was: that may have made room,
 * and is worth another try at once. From within anything that writes to the stream.
 */
bool gmt_rotation_make_room(struct gmt_rotate *rotate);

/*
 * The recording ends, and the rings were emptied as far as the file had room. A fold that is under way is given up, unless
 * events wait for the room that it makes. True where they did: the rings are to be emptied again, and what finds no room
 * behind the deadline (CLOCK_MONOTONIC) is counted as dropped.
 */
bool gmt_rotation_settle(struct gmt_rotate *rotate, uint64_t deadline_ns);

/* The rings are empty, the stream is still open: mode `aggregate` folds all, if that can be done until the deadline. */
void gmt_rotation_finish(struct gmt_rotate *rotate, uint64_t deadline_ns);

/* In the child of a fork. */
void gmt_rotation_forget(struct gmt_rotate *rotate);

#endif

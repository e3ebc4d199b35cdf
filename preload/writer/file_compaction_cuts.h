/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_FILE_COMPACTION_CUTS_H
#define GMT_WRITER_FILE_COMPACTION_CUTS_H

/*
 * Decides where the file is cut, and which cut a compaction takes. In the flow: file_compaction ->
 * cuts. `cut` is an index in compaction->cuts. Only the writer's thread uses it.
 */

#include "writer/file_compaction.h"

/* Parts of max_size. */
enum {
	GMT_FILE_COMPACTION_CUTS_OF_FILE = 64, /* distance of two cuts */
	GMT_FILE_COMPACTION_SLACK_PARTS = 16,  /* events before the cut that are written again */
	GMT_FILE_COMPACTION_KEPT_PARTS = 10,   /* kept in detail */
};

/*
 * Returns a cut at the present end of the file. `stamp` was taken before the rings were emptied.
 */
struct gmt_file_compaction_cut gmt_file_compaction_now(const struct gmt_file_compaction *compaction,
	uint64_t stamp);

/* Returns whether a cut is due. A cut costs a few bytes. */
bool gmt_file_compaction_is_cut_due(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now);

/* Returns the newest cut that is old enough for the window, or cut_count if no cut is. */
uint32_t gmt_file_compaction_cut_for_window(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now);

/*
 * Returns whether a compaction up to `cut` replaces enough events. The work of a compaction grows
 * with the size of the compacted prefix.
 */
bool gmt_file_compaction_is_worth_it(const struct gmt_file_compaction *compaction, uint32_t cut);

/*
 * Returns whether the file is too large. The file may use half of max_size. A tenth of max_size is
 * then kept in detail. So the new file has room next to the old file, which continues to grow
 * (set_limits). If the compacted prefix is large, the file may reach its limit earlier.
 */
bool gmt_file_compaction_is_too_large(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now);

/*
 * Returns the oldest cut after which the file is small enough. If room is scarce, returns the
 * newest cut. Returns cut_count if there is no such cut.
 */
uint32_t gmt_file_compaction_cut_for_size(const struct gmt_file_compaction *compaction,
	const struct gmt_file_compaction_cut *now);

/*
 * Returns the stamp up to which the compactor may compact. All records with an older stamp are
 * before the cut in the file, except those of calls that took long. Newer records before the cut
 * are written again unchanged; they are at most a small part of max_size.
 */
uint64_t gmt_file_compaction_settled_stamp(const struct gmt_file_compaction *compaction,
	uint32_t cut);

/*
 * Returns the published_until_stamp of gmt_compact_options. A missing free that is newer than this
 * stamp may still come. Returns 0 if room is scarce: otherwise the compactor would keep all events
 * that wait for such a free.
 */
uint64_t gmt_file_compaction_published_until(const struct gmt_file_compaction *compaction,
	uint32_t cut);

/* Returns whether the file has a maximum size. */
bool gmt_file_compaction_has_max_size(const struct gmt_file_compaction *compaction);

/* Returns the newest cut; the start of the details if there is none. */
const struct gmt_file_compaction_cut *gmt_file_compaction_last_cut(
	const struct gmt_file_compaction *compaction);

#endif

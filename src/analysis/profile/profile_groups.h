/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PROFILE_PROFILE_GROUPS_H
#define GMT_ANALYSIS_PROFILE_PROFILE_GROUPS_H

/*
 * Divides the numbers of a profile into groups: by owner, category, step and so on, with the keys
 * of `report --by`. A site belongs to one group, except by step and by phase: its blocks are made
 * in several. Then an observer counts the blocks of each site in each group during the replay.
 *
 *   gmt_profile_groups_init(&groups, key, recording, traces, timeline, stretch, error);
 *   options.observers = gmt_profile_groups_observer(&groups);
 *   gmt_replay_run(&replay, recording, traces, &options, error);
 *   gmt_profile_compute(&profile, choice, &replay, traces, stretch, &groups, error);
 */

#include "analysis/history/block_origin.h"
#include "analysis/history/history.h"
#include "analysis/profile/profile_values.h"
#include "analysis/stretch/stretch.h"
#include "analysis/tables/tables.h"
#include "containers/intern.h"

/* What the blocks of one site that were made in one step or phase did. */
struct gmt_profile_share {
	uint32_t site;
	uint32_t group;
	uint32_t next_plus_1; /* the site's next share; 0: there is none */
	uint64_t allocs, alloc_bytes;
	uint64_t live_blocks, live_bytes; /* after the last event so far */
	uint64_t end_blocks, end_bytes; /* at the end of the program's work, or of the stretch */
	uint64_t peak_blocks,
		peak_bytes; /* when the account peaked, if `peak_number` is its last peak */
	uint64_t peak_number; /* number of the account's peak that peak_* belong to */
};

struct gmt_profile_groups {
	enum gmt_table_grouping key;
	struct gmt_intern names; /* a group is an id */
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_stretch *stretch; /* NULL: the whole recording */
	struct gmt_history history; /* for categories */
	/* for steps and phases */
	struct gmt_replay_observer observer;
	struct gmt_block_origin origin;
	uint64_t next_needed_stamp, work_end;
	bool has_end; /* the shares have their numbers at the end of the program's work */
	GMT_VEC(struct gmt_profile_share) shares;
	GMT_VEC(uint32_t) first_shares; /* by site: index of its first share, + 1 */
	GMT_VEC(uint64_t) peak_numbers; /* by account: number of its peaks so far */
	struct gmt_map share_ids; /* site and group to index */
	struct gmt_map block_shares[GMT_ACCOUNTING_LAYERS]; /* by address of a live block: its share */
	uint64_t last_key_plus_1; /* step or phase of the block before, and its group */
	uint32_t last_group;
};

/*
 * Prepares zeroed groups. `stretch` (may be NULL) must observe the same replay, before the groups
 * do. All arguments are borrowed. Fails only when out of memory. The caller ends the groups with
 * gmt_profile_groups_fini, also after a failure.
 */
enum gmt_status gmt_profile_groups_init(struct gmt_profile_groups *groups,
	enum gmt_table_grouping key, const struct gmt_recording *recording,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline,
	const struct gmt_stretch *stretch, uint64_t until_ns, struct gmt_error *error);

/* Returns the observer that the replay needs; NULL: none. */
const struct gmt_replay_observer *gmt_profile_groups_observer(
	const struct gmt_profile_groups *groups);

/* A part of a site's numbers. */
struct gmt_profile_part {
	uint32_t group;
	uint64_t values[GMT_PROFILE_VALUES];
};

/*
 * Divides the numbers of a site: calls `take` for each group of the site. The parts sum to
 * `values`. Returns false when out of memory, or when `take` returned false.
 */
bool gmt_profile_groups_divide(struct gmt_profile_groups *groups, const struct gmt_replay *replay,
	uint32_t site, const uint64_t values[GMT_PROFILE_VALUES],
	bool (*take)(void *user, const struct gmt_profile_part *part), void *user);

/* Returns the name of a group, such as "step 3". */
const char *gmt_profile_groups_name(const struct gmt_profile_groups *groups, uint32_t group);

void gmt_profile_groups_fini(struct gmt_profile_groups *groups);

#endif

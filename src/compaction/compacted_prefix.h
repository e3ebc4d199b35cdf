/* SPDX-License-Identifier: MIT */
#ifndef GMT_COMPACTION_COMPACTED_PREFIX_H
#define GMT_COMPACTION_COMPACTED_PREFIX_H

/*
 * The past_* rows of a folded recording, and the books set by them. In the flow: rows in front of the `fold`
 * row -> past -> the books of a player that has played the survivors, so that all totals and peaks
 * are those of the whole recording; used by the replay and when a folded recording is folded again.
 * No threads, no I/O. Zero-initialise to make one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "accounting/interpret.h"
#include "format/format.h"

struct gmt_compacted {
	GMT_VEC(struct gmt_past_account) accounts;
	GMT_VEC(struct gmt_past_space) spaces;
	GMT_VEC(struct gmt_past_heap) heaps;
	GMT_VEC(struct gmt_past_site) sites;
	GMT_VEC(struct gmt_past_step) steps;
	GMT_VEC(struct gmt_past_answer) answers;
	GMT_VEC(struct gmt_past_counter) counters;
	GMT_VEC(struct gmt_past_curve) curves;
	GMT_VEC(uint64_t) calls, open_ooms; /* of the fold row */
	struct gmt_compact_row {
		uint64_t stamp, events, survivors, merged_sites, oom_retries;
		struct gmt_accounting_anomalies anomalies;
	} fold;
	bool has_fold;
};

/* Whether rows of this kind belong in here: those of past_* and `fold`. */
bool gmt_compacted_takes(uint32_t kind);

/* Keeps rows of such a kind, but for the text of `fold`. False when out of memory. */
bool gmt_compacted_add(struct gmt_compacted *compacted, uint32_t kind, const void *rows, uint32_t count);

/* Whether a refusal among the survivors, by its thread and stamp, is one of which what follows tells what became of it. */
bool gmt_compacted_is_open(const struct gmt_compacted *compacted, uint32_t thread, uint64_t stamp);

/* How past rows get the numbers that the player's owner uses. */
struct gmt_compacted_names {
	/* The place of a site's stacks. False when out of memory. */
	bool (*place)(void *user, const struct gmt_past_site *site, uint32_t *ret_place);
	/* The text of a name; "" for 0. */
	const char *(*name)(void *user, uint32_t name);
	/* The site is set: who asked first. False ends it. */
	bool (*set_site)(void *user, const struct gmt_past_site *row, uint32_t site);
	void *user;
};

/* Makes accounts, spaces, heaps and sites that the past has, in its order, before anything is played. False when out of memory. */
bool gmt_compacted_prepare(const struct gmt_compacted *compacted, struct gmt_event_interpreter *interpreter, const struct gmt_compacted_names *names);

/*
 * Sets the books once the survivors are played: what they hold stays, counts and peaks are the past's. What
 * does not fit together (a damaged file) is counted in *ret_misfits: accounts whose live bytes differ, and
 * accounts and heaps whose peak is not what their sites held then, which is then taken for it. False when out
 * of memory.
 */
bool gmt_compacted_set_accounting(const struct gmt_compacted *compacted, struct gmt_event_interpreter *interpreter, const struct gmt_compacted_names *names,
	uint64_t *ret_misfits);

void gmt_compacted_fini(struct gmt_compacted *compacted);

#endif

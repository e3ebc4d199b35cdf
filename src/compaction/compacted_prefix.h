/* SPDX-License-Identifier: MIT */
#ifndef GMT_COMPACTION_COMPACTED_PREFIX_H
#define GMT_COMPACTION_COMPACTED_PREFIX_H

/*
 * The prefix of a compacted recording: the past_* rows and the `fold` row, which hold the totals of
 * all events up to the cut. These functions restore an accounting from the prefix. In the flow:
 * rows up to the `fold` row -> compacted prefix -> accounting. The replay uses this, and so does
 * the compactor when its input is a compacted recording.
 *
 * No threads, no I/O. Zero-initialise before use.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "accounting/interpret.h"
#include "format/format.h"

struct gmt_compacted_prefix {
	GMT_VEC(struct gmt_past_account) accounts;
	GMT_VEC(struct gmt_past_space) spaces;
	GMT_VEC(struct gmt_past_heap) heaps;
	GMT_VEC(struct gmt_past_site) sites;
	GMT_VEC(struct gmt_past_step) steps;
	GMT_VEC(struct gmt_past_answer) answers;
	GMT_VEC(struct gmt_past_counter) counters;
	GMT_VEC(struct gmt_past_curve) curves;
	/* From the `fold` row: */
	uint64_t cut_stamp; /* stamp of the cut: the prefix replaces the events up to this stamp */
	uint64_t events;    /* number of recorded events up to the cut */
	uint64_t survivors; /* number of these events that the file still contains */
	uint64_t merged_sites;
	uint64_t oom_retries;
	struct gmt_accounting_anomalies anomalies;
	GMT_VEC(uint64_t) calls;     /* pairs: thread id, stack of its backward call */
	GMT_VEC(uint64_t) open_ooms; /* pairs: thread id, stamp of a refusal without an outcome */
	bool exists; /* the recording is compacted: it has a `fold` row */
};

/* Returns whether rows of this kind belong to the prefix: past_* and `fold`. */
bool gmt_compacted_prefix_takes(uint32_t kind);

/* Copies rows of these kinds, except the text of `fold`. Returns false when out of memory. */
bool gmt_compacted_prefix_add(struct gmt_compacted_prefix *prefix, uint32_t kind, const void *rows,
	uint32_t count);

/*
 * Returns whether the outcome of a refusal among the survivors is still open, so that later events
 * decide it. The thread and the stamp identify the refusal.
 */
bool gmt_compacted_prefix_is_open(const struct gmt_compacted_prefix *prefix, uint32_t thread,
	uint64_t stamp);

/* Callbacks that translate past_* rows to the numbers of the interpreter's owner. */
struct gmt_compacted_prefix_names {
	/* Returns the trace of a site's stacks. Returns false when out of memory. */
	bool (*trace)(void *user, const struct gmt_past_site *site, uint32_t *ret_trace);
	/* Returns the text of a name; "" for 0. */
	const char *(*name)(void *user, uint32_t name);
	/* Receives a restored site, e.g. to store which thread asked first. Returns false to stop. */
	bool (*set_site)(void *user, const struct gmt_past_site *row, uint32_t site);
	void *user;
};

/*
 * Creates the accounts, spaces, heaps and sites of the prefix, in its order. Call it before any
 * event is interpreted. Returns false when out of memory.
 */
bool gmt_compacted_prefix_prepare(const struct gmt_compacted_prefix *prefix,
	struct gmt_event_interpreter *interpreter, const struct gmt_compacted_prefix_names *names);

/*
 * Restores the accounting after the survivors were interpreted. Live blocks stay as they are.
 * Counts and peaks come from the prefix.
 *
 * *ret_mismatches counts inconsistencies (a damaged file). These are accounts whose live bytes
 * differ, and accounts and heaps whose peak is not the sum of what their sites held. In the latter
 * case that sum becomes the peak. Returns false when out of memory.
 */
bool gmt_compacted_prefix_set_accounting(const struct gmt_compacted_prefix *prefix,
	struct gmt_event_interpreter *interpreter, const struct gmt_compacted_prefix_names *names,
	uint64_t *ret_mismatches);

void gmt_compacted_prefix_fini(struct gmt_compacted_prefix *prefix);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_COMPACTION_COMPACT_H
#define GMT_COMPACTION_COMPACT_H

/*
 * Compacts a recording. The compactor summarizes everything up to a moment, the cut. It keeps the
 * blocks that are live at the cut, and all events after the cut, unchanged. In the flow: decoded
 * rows -> compactor -> rows -> encode. The recorder and the verb `fold` call it. docs/compaction.md
 * documents what is kept.
 *
 * 	gmt_compact_open(&options, &compactor, &error)
 * 	for each block of the input, in the file's order:
 * 		gmt_compact_rows(compactor, kind, rows, count)
 * 		while (gmt_compact_work(compactor, SLICE)) ...        go on, or do other work in between
 * 	gmt_compact_finish(compactor)
 * 	while (gmt_compact_work(compactor, SLICE)) ...
 * 	if (!gmt_compact_failed(compactor)) the output is complete
 * 	gmt_compact_close(compactor)
 *
 * The input may itself be a compacted recording. Ids (of stacks, frames, codes, names, threads,
 * functions) are the same in the output. So the writer of the input can continue to write after the
 * end of the output. The output contains, in this order:
 *
 * - the definitions, as they come;
 * - the events of the blocks that are live at the cut ("survivors"), with their own stamps, threads
 *   and stacks;
 * - the past_* rows;
 * - one `fold` row;
 * - the rows after the cut.
 *
 * An event after the `fold` row in the file is after the cut, whatever its stamp is. Rows `sync`
 * and `end` count all recorded events, including compacted ones, and pass unchanged.
 *
 * The memory comes from base/. Its size depends on the live blocks, the number of sites, and
 * max_waiting. The compactor starts no threads. It does no I/O except through the caller's `write`.
 * Only one thread at a time may use it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/priority_queue.h"
#include "format/format.h"

struct gmt_compactor;

/*
 * Takes `count` rows of a kind for the output, in the form that gmt_encode_rows takes (events hold
 * differences of totals). The rows, and the memory that they point to, are valid until the function
 * returns. Returns false if it cannot write the output; then the compaction has failed.
 */
typedef bool gmt_compact_write(void *user, uint32_t kind, const void *rows, uint32_t count);

struct gmt_compact_options {
	/* compact the events up to and including this stamp; UINT64_MAX: all events */
	uint64_t cut_stamp;
	/*
	 * For an input that is still being recorded: all events up to this stamp are in the input. A
	 * later allocation may use the address of a block that is still live, because the free of that
	 * block is still to come. Then the compactor moves the cut before that allocation, so that the
	 * free finds its block. 0: the compactor assumes that such a free was missed.
	 */
	uint64_t published_until_stamp;
	/*
	 * Only for a complete input. The compactor keeps up to this many events after the last marked
	 * step or phase, or after the program's teardown mark, because `check` needs the blocks that
	 * were live at that moment. If there are more events, it compacts them too. 0: it keeps none of
	 * them.
	 */
	uint32_t max_tail_events;
	/*
	 * Marks that are not rows of the input: the caller derived them from the events. They must stay
	 * valid until gmt_compact_open returns.
	 */
	const struct gmt_mark *marks;
	size_t mark_count;
	/* text for the `fold` row, e.g. "mode=window"; must stay valid until gmt_compact_close */
	const char *why;
	uint32_t max_sites;    /* merge further sites into sites without a stack; 0: no limit */
	uint32_t max_waiting; /* events that may wait to be sorted; 0: 262,144 (128 bytes each) */
	gmt_compact_write *write;
	void *user;
};

/*
 * Creates a compactor. Fails only when out of memory. The caller ends *ret_compactor with
 * gmt_compact_close.
 */
enum gmt_status gmt_compact_open(const struct gmt_compact_options *options,
	struct gmt_compactor **ret_compactor, struct gmt_error *error);

/*
 * Takes the next block of the input. `rows` have the form that gmt_decode_rows produces (events
 * hold absolute totals), and must stay valid until this returns. Rows of unknown kinds are dropped.
 * The call is cheap: it copies only what it must. gmt_compact_work does the work, and must have
 * returned false before the next call. Returns false if the compaction has failed.
 */
bool gmt_compact_rows(struct gmt_compactor *compactor, uint32_t kind, const void *rows,
	uint32_t count);

/* Marks the end of the input. */
void gmt_compact_finish(struct gmt_compactor *compactor);

/*
 * Does a part of the waiting work, about `max_rows` rows (a row is an interpreted event, or a
 * written row). 10,000 rows take a few milliseconds. Returns true while there is more work. Returns
 * false after a failure.
 */
bool gmt_compact_work(struct gmt_compactor *compactor, uint32_t max_rows);

/*
 * Returns whether the compaction failed: memory ran out, or `write` returned false. Then the output
 * is useless.
 */
bool gmt_compact_failed(const struct gmt_compactor *compactor);

/*
 * Returns the number of events that remain only in totals, including those of earlier compactions.
 * Returns 0 until the `fold` row is written.
 */
uint64_t gmt_compact_compacted_events(const struct gmt_compactor *compactor);

/* Ends a compactor. `compactor` may be NULL. */
void gmt_compact_close(struct gmt_compactor *compactor);

/*
 * What a plan keeps. A plan chooses the cut so that the last events, nanoseconds or steps are kept.
 * It reads all rows once, in any order.
 */
struct gmt_compact_keep {
	uint64_t events; /* number of last events by stamp, at most 4,194,304; 0: no such limit */
	uint64_t time_ns; /* 0: no such limit */
	uint64_t steps; /* number of whole steps, at most 65,536; 0: no such limit */
};

struct gmt_compact_plan {
	struct gmt_compact_keep keep;
	uint64_t last_stamp; /* largest stamp of all events */
	uint64_t first_clock_stamp, first_clock_ns, last_clock_stamp, last_clock_ns;
	struct gmt_priority_queue newest; /* stamps of the last keep.events + 1 events */
	uint64_t *steps; /* ring: stamps of the last keep.steps + 1 ends of steps */
	uint64_t step_count; /* number of steps ever seen */
	/* object whose marks count: the program's (0), else the first optimizer's */
	uint64_t step_object;
	bool program_steps;
	bool failed; /* out of memory: the plan returns 0, so nothing is compacted */
};

/*
 * Starts a plan. The caller owns `ret_plan` and ends it with gmt_compact_plan_fini. If `keep` names
 * nothing to keep, the plan compacts everything.
 */
void gmt_compact_plan_init(struct gmt_compact_plan *ret_plan, const struct gmt_compact_keep *keep);

/* Takes rows of one kind, in the order of the input. The plan uses clocks, marks and events. */
void gmt_compact_plan_rows(struct gmt_compact_plan *plan, uint32_t kind, const void *rows,
	uint32_t count);

/*
 * Returns the cut. Everything that `keep` asks for lies after it. 0: compact nothing; UINT64_MAX:
 * compact everything.
 */
uint64_t gmt_compact_plan_cut(const struct gmt_compact_plan *plan);

void gmt_compact_plan_fini(struct gmt_compact_plan *plan);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_COMPACTION_COMPACT_H
#define GMT_COMPACTION_COMPACT_H

/*
 * Makes a recording small: what happened up to a moment (the cut) is summed up, what lives at the cut and all
 * behind it stays as it is. In the flow: decoded rows -> fold -> rows -> encode; used by the recorder (in
 * its modes `window` and `aggregate`) and by `gpumemtrace fold`. docs/folding.md says what is kept.
 *
 *	gmt_compact_open(&options, &fold, &error)
 *	for each block of the input, in the file's order:
 *		gmt_compact_rows(fold, kind, rows, count)
 *		while (gmt_compact_work(fold, SLICE)) ...        go on in slices, or do something else in between
 *	gmt_compact_finish(fold)
 *	while (gmt_compact_work(fold, SLICE)) ...
 *	if (!gmt_compact_failed(fold)) the output is whole
 *	gmt_compact_close(fold)
 *
 * The input may be a folded recording itself. Ids (of stacks, frames, codes, names, threads, functions) are
 * the same in the output, so that who wrote the input can go on writing behind the output. In it stand, in
 * this order: definitions as they come; the events of what lives at the cut ("survivors", with their own
 * stamps, threads and stacks); the past_* rows; one `fold` row; what came behind the cut. An event in the
 * file behind the `fold` row is behind the cut, whatever its stamp says. Rows `sync` and `end` count the events
 * that were recorded, folded ones included, and pass unchanged.
 *
 * Memory comes from base/ and follows what lives, how many sites there are, and max_waiting. No threads, no
 * I/O but the caller's `write`. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "accounting/queue.h"
#include "format/format.h"

struct gmt_compactor;

/*
 * Takes `count` rows of a kind for the output, as gmt_encode_rows takes them (events hold differences of
 * totals). They, and what they point to, are good until it returns. False: the output cannot be written; the
 * fold has failed then.
 */
typedef bool gmt_compact_write(void *user, uint32_t kind, const void *rows, uint32_t count);

struct gmt_compact_options {
	uint64_t cut_stamp;    /* events up to and with this stamp are folded; UINT64_MAX: all */
	/*
	 * Of an input that goes on: an allocation stamped behind this, where a block still lives, shows that the free of that block
	 * is still to come. It and what is newer is not folded then, so that the free finds its block. 0: it is taken for missed.
	 */
	uint64_t sure_stamp;
	/*
	 * So many events at most stay behind the last step or phase that was marked, or behind the end of the program's work: what
	 * lived then is what a verdict needs. Only of an input that ends; where there are more, they are folded too. 0: none.
	 */
	uint32_t most_end_events;
	/* Marks that are no rows of the input: what the caller told from its events. Good until gmt_compact_open returns. */
	const struct gmt_mark *marks;
	size_t mark_count;
	const char *why;       /* for the `fold` row, e.g. "mode=window"; good until gmt_compact_close */
	uint32_t max_sites;    /* more of them are put together in sites without a stack; 0: no limit */
	uint32_t max_waiting;  /* events that may wait to be put in order; 0: 262,144 (128 bytes each) */
	gmt_compact_write *write;
	void *user;
};

/* Fails only for lack of memory. The caller ends *ret_fold with gmt_compact_close. */
enum gmt_status gmt_compact_open(const struct gmt_compact_options *options, struct gmt_compactor **ret_fold,
	struct gmt_error *error);

/*
 * The next block of the input: `rows` are as gmt_decode_rows makes them (events hold absolute totals), good
 * until this returns. Kinds that nobody knows are left out. Cheap: copies what it must; the work is done in
 * gmt_compact_work, which must have answered false before. False when the fold has failed.
 */
bool gmt_compact_rows(struct gmt_compactor *fold, uint32_t kind, const void *rows, uint32_t count);

/* There are no more rows. */
void gmt_compact_finish(struct gmt_compactor *fold);

/*
 * Does about `max_rows` rows' worth of what is to be done (an event is played, or a row is written): 10,000
 * take a few milliseconds. True while there is more. Once it has failed there is no more.
 */
bool gmt_compact_work(struct gmt_compactor *fold, uint32_t max_rows);

/* Whether memory ran out, or `write` answered false: the output is worth nothing. */
bool gmt_compact_failed(const struct gmt_compactor *fold);

/* Events that are in totals only, those of folds before included; 0 until the `fold` row is written. */
uint64_t gmt_compact_compacted_events(const struct gmt_compactor *fold);

/* `fold` may be NULL. */
void gmt_compact_close(struct gmt_compactor *fold);

/* Where to cut, so that the last events, nanoseconds or steps stay. Looks at all rows once, in any order. */
struct gmt_compact_keep {
	uint64_t events;  /* the last ones by their stamps, at most 4,194,304; 0: none */
	uint64_t time_ns; /* 0: none */
	uint64_t steps;   /* whole steps, at most 65,536; 0: none */
};

struct gmt_compact_plan {
	struct gmt_compact_keep keep;
	uint64_t last_stamp;  /* largest of events */
	uint64_t first_clock_stamp, first_clock_ns, last_clock_stamp, last_clock_ns;
	struct gmt_queue newest; /* stamps of the last keep.events + 1 events */
	uint64_t *steps;      /* stamps of the last keep.steps + 1 ends of steps, a ring */
	uint64_t step_count;  /* ever */
	uint64_t step_object; /* whose marks count: the program's (0), else the first optimizer's */
	bool program_steps;
	bool failed;          /* out of memory: the plan answers 0, nothing is folded */
};

/* `ret_plan` is the caller's; end it with gmt_compact_plan_fini. With nothing to keep all is to be folded. */
void gmt_compact_plan_init(struct gmt_compact_plan *ret_plan, const struct gmt_compact_keep *keep);

/* Rows of a kind, as they come; looks at clocks, marks and events. */
void gmt_compact_plan_rows(struct gmt_compact_plan *plan, uint32_t kind, const void *rows, uint32_t count);

/* The cut: all that was asked for lies behind it. 0: nothing is to be folded; UINT64_MAX: all. */
uint64_t gmt_compact_plan_cut(const struct gmt_compact_plan *plan);

void gmt_compact_plan_fini(struct gmt_compact_plan *plan);

#endif

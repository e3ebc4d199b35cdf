/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_DIFF_H
#define GMT_ANALYSIS_COMPARE_DIFF_H

/*
 * What two recordings differ in: for each layer on each device (diff_match.h) and the host, and
 * in it for each row: a line of the user's, under the names of site_key.h. Rows sum to their account:
 * what they differ by is what the accounts differ by, to the byte.
 *
 * A row's peak is what it held when its account peaked, in each recording at that recording's moment.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/recording/warnings.h"
#include "analysis/history/history.h"
#include "analysis/compare/site_key.h"
#include "analysis/history/sites.h"

enum gmt_diff_amount {
#define GMT_DIFF_AMOUNT(NAME, name) GMT_DIFF_##NAME,
#include "analysis/compare/diff_amounts.def"
#undef GMT_DIFF_AMOUNT
	GMT_DIFF_AMOUNTS,
};

enum { GMT_DIFF_BASE, GMT_DIFF_NEW, GMT_DIFF_SIDES };

/* What makes a row. */
enum gmt_diff_by {
#define GMT_DIFF_ROW(NAME, name, row, rows, none) GMT_DIFF_BY_##NAME,
#include "analysis/compare/diff_by.def"
#undef GMT_DIFF_ROW
};

enum gmt_diff_change {
	GMT_DIFF_ADDED,  /* had no block in the base */
	GMT_DIFF_GONE,   /* has none in the new one */
	GMT_DIFF_GROWN,  /* by the amount that was asked for */
	GMT_DIFF_SHRUNK,
	GMT_DIFF_SAME,
	GMT_DIFF_CHANGES,
};

struct gmt_diff_pair {
	uint64_t sides[GMT_DIFF_SIDES];
};

struct gmt_diff_row {
	uint32_t account; /* index */
	const char *name; /* as in the new recording, if it has it */
	const char *moved_from; /* its name in the base, where its file lay in another folder; else NULL */
	uint64_t hash;    /* by stack; else 0 */
	enum gmt_diff_change change;
	struct gmt_diff_pair amounts[GMT_DIFF_AMOUNTS];
	struct gmt_diff_pair sites; /* stacks in the row */
	/* The site with the most of the amount that was asked for, on each side that has one. */
	const struct gmt_site *largest[GMT_DIFF_SIDES];
};

/* Rows that are not shown for themselves. */
struct gmt_diff_hidden {
	uint64_t rows;
	int64_t difference; /* together */
};

struct gmt_diff_account {
	uint32_t layer;
	int32_t device; /* of the base; GMT_DEVICE_HOST: host memory; else below 0: the recordings do not say which */
	int32_t new_device; /* that is compared with it: the same one, or that in the same place among those that were used */
	const struct gmt_account *accounting[GMT_DIFF_SIDES]; /* NULL: no event */
	struct gmt_diff_pair amounts[GMT_DIFF_AMOUNTS];
	struct gmt_diff_pair peak_time_ns, reserved_peak_bytes, refused;
	bool has_reserved; /* PyTorch told it */
	const struct gmt_diff_row *rows; /* largest difference first; those that do not differ last */
	size_t row_count;
	size_t shown_count; /* of them differ by the threshold or more */
	uint64_t changes[GMT_DIFF_CHANGES]; /* rows of each kind */
	uint64_t same_bytes; /* of the amount that was asked for, in rows that do not differ in it */
	struct gmt_diff_hidden hidden; /* rows that differ by less than the threshold */
};

/* One recording, with what was made of it; all are borrowed. */
struct gmt_diff_side {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_sites *sites;
	const struct gmt_warnings *warnings;
	const struct gmt_history *history; /* of the replay; NULL: by category, what an optimizer makes is its state */
};

struct gmt_diff_options {
	enum gmt_diff_by by;
	enum gmt_sites_key key;   /* the amount that rows are judged and sorted by */
	uint64_t threshold_bytes; /* 0: every difference */
};

struct gmt_diff {
	struct gmt_diff_side sides[GMT_DIFF_SIDES];
	struct gmt_diff_options options;
	enum gmt_diff_amount amount, count; /* that belong to options.key: bytes, and the number of blocks */
	struct gmt_site_keys keys[GMT_DIFF_SIDES];
	struct gmt_intern names;
	GMT_VEC(struct gmt_diff_account) accounts; /* by device, the host last; layer torch before cuda */
	GMT_VEC(struct gmt_diff_row) rows;
	struct gmt_arena arena;
	GMT_VEC(const char *) doubts; /* why the comparison may mislead; one line each */
	bool differs; /* a row or an account, by the threshold or more */
};

/*
 * Fails only for lack of memory. `ret_diff` (zeroed) is the caller's; end it with gmt_diff_fini.
 * Everything in `sides` must outlive it; sites must not be sorted meanwhile.
 */
enum gmt_status gmt_diff_init(struct gmt_diff *ret_diff, const struct gmt_diff_side *base,
	const struct gmt_diff_side *now, const struct gmt_diff_options *options, struct gmt_error *error);

/* New less base. */
int64_t gmt_diff_difference(const struct gmt_diff_pair *pair);

/* "group"; "function", "functions", what rows are; "(no stack)", the row of what has none. */
const char *gmt_diff_by_name(enum gmt_diff_by by);
const char *gmt_diff_by_row(enum gmt_diff_by by);
const char *gmt_diff_by_rows(enum gmt_diff_by by);
const char *gmt_diff_by_none(enum gmt_diff_by by);

const char *gmt_diff_amount_name(enum gmt_diff_amount amount);

/* "new", "gone", "grown", "shrunk", "unchanged" */
const char *gmt_diff_change_name(enum gmt_diff_change change);

/* Fills diff->doubts; part of gmt_diff_init. False: out of memory. */
bool gmt_diff_list_uncertain(struct gmt_diff *diff);

void gmt_diff_fini(struct gmt_diff *diff);

#endif

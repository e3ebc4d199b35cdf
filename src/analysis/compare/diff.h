/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_DIFF_H
#define GMT_ANALYSIS_COMPARE_DIFF_H

/*
 * Comparison of two recordings: for each layer on each device (diff_match.h) and on the host, and
 * within it for each row. A row is a line of the user, named as in site_key.h. The rows sum to
 * their account: the differences of the rows add up exactly to the difference of the account.
 *
 * A row's peak is the memory that it held at the peak of its account, in each recording at that
 * recording's own moment.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/recording/warnings.h"
#include "analysis/history/history.h"
#include "analysis/compare/site_key.h"
#include "analysis/history/site_table.h"

enum gmt_diff_amount {
#define GMT_DIFF_AMOUNT(NAME, name) GMT_DIFF_##NAME,
#include "analysis/compare/diff_amounts.def"
#undef GMT_DIFF_AMOUNT
	GMT_DIFF_AMOUNTS,
};

enum { GMT_DIFF_BASE, GMT_DIFF_NEW, GMT_DIFF_SIDES };

/* The property by which sites are grouped into rows. */
enum gmt_diff_grouping {
#define GMT_DIFF_ROW(NAME, name, row, rows, none) GMT_DIFF_BY_##NAME,
#include "analysis/compare/diff_by.def"
#undef GMT_DIFF_ROW
};

enum gmt_diff_change {
	GMT_DIFF_ADDED,  /* no block in the base */
	GMT_DIFF_GONE,   /* no block in the new recording */
	GMT_DIFF_GROWN,  /* by the compared amount */
	GMT_DIFF_SHRUNK,
	GMT_DIFF_SAME,
	GMT_DIFF_CHANGES,
};

struct gmt_diff_pair {
	uint64_t sides[GMT_DIFF_SIDES];
};

struct gmt_diff_row {
	uint32_t account; /* index */
	const char *name; /* as in the new recording, if it has the row */
	/* name in the base if the file lay in another folder there; else NULL */
	const char *moved_from;
	uint64_t hash;    /* for rows by stack; else 0 */
	enum gmt_diff_change change;
	struct gmt_diff_pair amounts[GMT_DIFF_AMOUNTS];
	struct gmt_diff_pair sites; /* stacks in the row */
	/* On each side: the site with the largest compared amount, or NULL. */
	const struct gmt_site *largest[GMT_DIFF_SIDES];
};

/* Rows that are not shown individually. */
struct gmt_diff_hidden {
	uint64_t rows;
	int64_t difference; /* sum over these rows */
};

struct gmt_diff_account {
	uint32_t layer;
	/* device of the base; GMT_DEVICE_HOST: the host; below 0: not known which device */
	int32_t device;
	/* device compared with it: same number, or same position among the used devices */
	int32_t new_device;
	const struct gmt_account *accounting[GMT_DIFF_SIDES]; /* NULL: no event */
	struct gmt_diff_pair amounts[GMT_DIFF_AMOUNTS];
	struct gmt_diff_pair peak_time_ns, reserved_peak_bytes, refused;
	bool has_reserved; /* PyTorch reported its reserved memory */
	/* largest difference first; rows without a difference are last */
	const struct gmt_diff_row *rows;
	size_t row_count;
	size_t shown_count; /* number of rows that differ by the threshold or more */
	uint64_t changes[GMT_DIFF_CHANGES]; /* number of rows per kind of change */
	uint64_t same_bytes; /* compared amount in rows that do not differ in it */
	struct gmt_diff_hidden hidden; /* rows that differ by less than the threshold */
};

/* One recording and the results of its analyses. All are borrowed. */
struct gmt_diff_side {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_sites *sites;
	const struct gmt_warnings *warnings;
	/* of the replay; NULL: by category, an optimizer's allocations count as its state */
	const struct gmt_history *history;
};

struct gmt_diff_options {
	enum gmt_diff_grouping by;
	enum gmt_sites_order key;   /* the compared amount, which also determines the order of rows */
	uint64_t threshold_bytes; /* 0: show every difference */
};

struct gmt_diff {
	struct gmt_diff_side sides[GMT_DIFF_SIDES];
	struct gmt_diff_options options;
	/* the two amounts of options.key: bytes, and number of blocks */
	enum gmt_diff_amount amount, count;
	struct gmt_site_keys keys[GMT_DIFF_SIDES];
	struct gmt_intern names;
	GMT_VEC(struct gmt_diff_account) accounts; /* by device, host last; layer torch before cuda */
	GMT_VEC(struct gmt_diff_row) rows;
	struct gmt_arena arena;
	GMT_VEC(const char *) uncertainties; /* reasons why the comparison may mislead; one line each */
	bool differs; /* a row or an account differs by the threshold or more */
};

/*
 * Compares two recordings. Fails only if memory is exhausted. `ret_diff` (zeroed) belongs to the
 * caller; end it with gmt_diff_fini. Everything in `base` and `now` must outlive it. The caller
 * must not sort the sites meanwhile.
 */
enum gmt_status gmt_diff_compute(struct gmt_diff *ret_diff, const struct gmt_diff_side *base,
	const struct gmt_diff_side *now, const struct gmt_diff_options *options,
	struct gmt_error *error);

/* Returns the new amount minus the base amount. */
int64_t gmt_diff_pair_change(const struct gmt_diff_pair *pair);

/*
 * Return names of the grouping: its name ("group"), one row ("function"), several rows
 * ("functions"), and the row of sites without the property ("(no stack)").
 */
const char *gmt_diff_by_name(enum gmt_diff_grouping by);
const char *gmt_diff_by_row(enum gmt_diff_grouping by);
const char *gmt_diff_by_rows(enum gmt_diff_grouping by);
const char *gmt_diff_by_none(enum gmt_diff_grouping by);

const char *gmt_diff_amount_name(enum gmt_diff_amount amount);

/* "new", "gone", "grown", "shrunk", "unchanged" */
const char *gmt_diff_change_name(enum gmt_diff_change change);

/* Fills diff->uncertainties; part of gmt_diff_compute. Returns false if memory is exhausted. */
bool gmt_diff_list_uncertain(struct gmt_diff *diff);

void gmt_diff_fini(struct gmt_diff *diff);

#endif

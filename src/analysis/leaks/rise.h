/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_RISE_H
#define GMT_ANALYSIS_LEAKS_RISE_H

/*
 * Judges how a curve of held bytes rises. Data flow: history -> rise -> leaks.
 *
 * At a moment, a line has *kept* the least that it holds from then on. A sliding window, a cache
 * that drops old entries and a request that ends all come down again, so they keep nothing. A leak
 * keeps more and more, even if a window hides it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gmt_rise_kind {
	GMT_RISE_NONE,  /* it does not rise, or it rises too seldom for a verdict */
	GMT_RISE_GROWS,
	/*
	 * It rises, but it fell by as much before, or the program freed the rise while it still worked.
	 */
	GMT_RISE_ENDS,
	GMT_RISE_FILLS, /* it rises more and more slowly: it fills up */
};

/* Samples at the ends of steps, at equal distances. Borrowed. */
struct gmt_rise_curve {
	const uint64_t *held; /* bytes */
	const uint64_t *low;  /* least bytes at the end of any step since the previous sample */
	size_t count;
	size_t first;         /* first sample after the warm-up */
	/* Samples at the end that are left out: blocks made in them may still be in use. */
	size_t margin;
	uint64_t later_bytes; /* part of the last sample that is still held when the work is over */
};

struct gmt_rise {
	enum gmt_rise_kind kind;
	size_t onset;        /* first sample of the whole curve at which something was kept */
	size_t first, last;  /* samples between which it grew */
	size_t last_rise;    /* last sample in that range that kept more than the sample before */
	size_t rises;        /* number of samples that kept more than the sample before */
	bool are_few;        /* there are few rises, with long pauses between them */
	/* Each of the few rises is larger than the previous rise: a buffer that doubles. */
	bool is_geometric;
	uint64_t bytes;      /* growth from `first` to `last` */
	double per_sample;
};

/* Judges the curve. False when out of memory. Time is O(count squared). */
bool gmt_rise_of(const struct gmt_rise_curve *curve, struct gmt_rise *ret_rise);

#endif

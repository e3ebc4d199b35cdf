/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_RISE_H
#define GMT_ANALYSIS_LEAKS_RISE_H

/*
 * How a curve of held bytes rises: what it never gives back. In the flow: history -> rise -> leaks.
 *
 * What a line has kept at a moment is the least that it holds from then on. A sliding window, a cache that drops what is
 * old, a request that is over: all of them come back down, and keep nothing. A leak keeps more and more, also where it
 * hides beside a window.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gmt_rise_kind {
	GMT_RISE_NONE,  /* it does not rise, or not often enough to say so */
	GMT_RISE_GROWS,
	GMT_RISE_ENDS,  /* it rises, and has come down from as much before, or was given back while the program still worked */
	GMT_RISE_FILLS, /* it rises less and less: it fills up */
};

/* Samples at the ends of steps, equally far apart. Borrowed. */
struct gmt_rise_curve {
	const uint64_t *held; /* bytes */
	const uint64_t *low;  /* the least at the end of any step since the sample before */
	size_t count;
	size_t first;         /* behind the warm-up */
	size_t margin;        /* samples at the end, what they made may be in use */
	uint64_t later_bytes; /* what of the last sample is still held when the work is over */
};

struct gmt_rise {
	enum gmt_rise_kind kind;
	size_t onset;        /* the first sample of all at which something was kept */
	size_t first, last;  /* samples between which it grew */
	size_t last_rise;    /* the last sample of them that held more than the one before */
	size_t rises;        /* samples that kept more than the one before */
	bool are_few;        /* some rises with long pauses between them */
	bool is_geometric;   /* they are, and each is larger than the one before: a buffer that doubles */
	uint64_t bytes;      /* by so much between them */
	double per_sample;
};

/* False when out of memory. O(count squared). */
bool gmt_rise_of(const struct gmt_rise_curve *curve, struct gmt_rise *ret_rise);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SUGGESTION_H
#define GMT_BASE_SUGGESTION_H

#include <stdbool.h>

/*
 * Finds the word for "did you mean". Zero-initialise the structure, then call
 * gmt_suggestion_consider once for each valid word. `best` is the nearest word so far. Words that
 * are not similar to `typed` are ignored. Case is ignored. No global state, no allocation:
 * safe in any thread, also in the recorder.
 */
struct gmt_suggestion {
	const char *best; /* one of the words that were passed; NULL: no word is similar */
	unsigned distance;
};

/* Returns whether two words are equal if case is ignored. */
bool gmt_equal_ignoring_case(const char *a, const char *b);

/* Takes `word` as the best one if it is nearer to `typed` than the best one so far. */
void gmt_suggestion_consider(struct gmt_suggestion *suggestion, const char *typed,
	const char *word);

#endif

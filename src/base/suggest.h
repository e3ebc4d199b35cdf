/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SUGGEST_H
#define GMT_BASE_SUGGEST_H

#include <stdbool.h>

/*
 * Finds the word for "did you mean". Zero-initialise the structure, then call gmt_suggest once for
 * each valid word. `best` is the nearest word so far. Words that are not similar to `typed` are
 * ignored. Upper and lower case are equal. No global state, no allocation: safe in any thread, also
 * in the recorder.
 */
struct gmt_suggestion {
	const char *best; /* one of the words that were passed; NULL: no word is similar */
	unsigned distance;
};

/* Returns whether two words are equal, apart from upper and lower case. */
bool gmt_words_equal(const char *a, const char *b);

void gmt_suggest(struct gmt_suggestion *suggestion, const char *typed, const char *word);

#endif

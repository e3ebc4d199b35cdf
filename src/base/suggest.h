/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SUGGEST_H
#define GMT_BASE_SUGGEST_H

#include <stdbool.h>

/*
 * "Did you mean": zero-initialise, then call once for each word that would have been right; `best`
 * is the nearest one so far. Words that are nothing like `typed` are not taken. Upper and lower case count as the same
 * letter. No state, no allocation: safe in any thread, also in the recorder.
 */
struct gmt_suggestion {
	const char *best; /* one of the words that were given; NULL: none is near */
	unsigned distance;
};

/* Whether two words differ by nothing or by upper and lower case only. */
bool gmt_words_equal(const char *a, const char *b);

void gmt_suggest(struct gmt_suggestion *suggestion, const char *typed, const char *word);

#endif

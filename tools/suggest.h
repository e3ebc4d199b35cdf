/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_SUGGEST_H
#define GMT_TOOLS_SUGGEST_H

/*
 * "Did you mean": zero-initialise, then call once for each word that would have been right; `best`
 * is the nearest one so far. Words that are nothing like `typed` are not taken.
 */
struct gmt_suggestion {
	const char *best;
	unsigned distance;
};

void gmt_suggest(struct gmt_suggestion *suggestion, const char *typed, const char *word);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_TORCH_PICKLE_H
#define GMT_RENDER_EXPORT_TORCH_PICKLE_H

/*
 * Writes a pickle as a stream. It uses protocol 2 and only the opcodes that PyTorch's viewer in
 * JavaScript knows (torch/utils/viz/MemoryViz.js). docs/internals/decisions/exports-and-imports.md
 * explains why.
 *
 * A value that occurs often is written once and memoized: then gmt_pickle_memoize returns its
 * number, and gmt_pickle_get writes it again.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gmt_pickle {
	FILE *file;
	uint32_t memoized; /* number of memoized values */
};

/* A list that is being written. */
struct gmt_pickle_list {
	uint64_t count;
};

void gmt_pickle_begin(struct gmt_pickle *pickle);
void gmt_pickle_end(struct gmt_pickle *pickle);

/* Memoizes the last value. Returns its number, plus 1. */
uint32_t gmt_pickle_memoize(struct gmt_pickle *pickle);

/* Writes a memoized value. */
void gmt_pickle_get(struct gmt_pickle *pickle, uint32_t number_plus_1);

/* Writes a number; a number above INT64_MAX becomes INT64_MAX. */
void gmt_pickle_number(struct gmt_pickle *pickle, uint64_t value);

void gmt_pickle_bool(struct gmt_pickle *pickle, bool value);

/* Writes a text; '?' replaces each character that cannot be shown (base/safe_text.h). */
void gmt_pickle_text(struct gmt_pickle *pickle, const char *text);

/*
 * Writes a text, or gets it if *memo is not 0. *memo is 0 at first, then the number of the memoized
 * text, plus 1.
 */
void gmt_pickle_memo_text(struct gmt_pickle *pickle, const char *text, uint32_t *memo);

/* Between them, the caller writes keys and values in turn. */
void gmt_pickle_begin_dict(struct gmt_pickle *pickle);
void gmt_pickle_end_dict(struct gmt_pickle *pickle);

/* The caller calls gmt_pickle_item before each item. */
struct gmt_pickle_list gmt_pickle_begin_list(struct gmt_pickle *pickle);
void gmt_pickle_item(struct gmt_pickle *pickle, struct gmt_pickle_list *list);
void gmt_pickle_end_list(struct gmt_pickle *pickle, const struct gmt_pickle_list *list);

/* Writes a tuple of two numbers. */
void gmt_pickle_pair(struct gmt_pickle *pickle, uint64_t first, uint64_t second);

#endif

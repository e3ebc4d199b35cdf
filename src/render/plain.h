/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PLAIN_H
#define GMT_RENDER_PLAIN_H

/* Text for a terminal: colours when wanted, and nothing from a file that could command the terminal. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/tables/stack_summary.h"
#include "reader/load/snapshot.h"
#include "reader/stacks/traces.h"

enum gmt_plain_style { GMT_PLAIN_NORMAL, GMT_PLAIN_BOLD, GMT_PLAIN_DIM, GMT_PLAIN_WARN };

struct gmt_plain {
	FILE *file;
	bool color;
};

/* What follows is in this style, until GMT_PLAIN_NORMAL. */
void gmt_plain_style(const struct gmt_plain *plain, enum gmt_plain_style style);

/* Text from a file, as safe.h lets it be seen. */
void gmt_plain_text(const struct gmt_plain *plain, const char *text);

/* The same for an argument of a command, in quotes where a shell would need them. */
void gmt_plain_argument(const struct gmt_plain *plain, const char *text);

/* A line of such text in bold, behind an empty one. */
void gmt_plain_heading(const struct gmt_plain *plain, const char *text);

/* "train.py:31 in training_step", "at::native::empty_cuda", "main (main.cpp:12)". */
void gmt_plain_place(const struct gmt_plain *plain, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, uint32_t place);

/* Same as above, for the frame that heads a stack: "by PyTorch's pin-memory thread (DataLoader)" where that is all that is known. */
void gmt_plain_own_place(const struct gmt_plain *plain, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, uint32_t place);

/* "2026-11-21 06:19:56 UTC" */
void gmt_plain_date(const struct gmt_plain *plain, uint64_t epoch_ns);

#endif

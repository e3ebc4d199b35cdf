/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_CONSOLE_H
#define GMT_RENDER_CONSOLE_H

/* Text for a terminal: with colours if wanted. Text from a file cannot control the terminal. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/tables/stack_summary.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"

enum gmt_console_style {
	GMT_CONSOLE_NORMAL,
	GMT_CONSOLE_BOLD,
	GMT_CONSOLE_DIM,
	GMT_CONSOLE_WARN,
	GMT_CONSOLE_HEAT, /* the first of GMT_CONSOLE_HEATS background colours, from yellow to red */
};

enum { GMT_CONSOLE_HEATS = 6 };

struct gmt_console {
	FILE *file;
	bool color;
};

/* Switches the style of the following text, until GMT_CONSOLE_NORMAL. */
void gmt_console_style(const struct gmt_console *console, enum gmt_console_style style);

/* Writes a text from a recording. Hides terminal commands in it (safe_text.h). */
void gmt_console_text(const struct gmt_console *console, const char *text);

/* Writes text the same way, and spaces up to `width` bytes. */
void gmt_console_padded(const struct gmt_console *console, const char *text, size_t width);

/* Writes an argument of a command the same way, in quotes if a shell needs them. */
void gmt_console_argument(const struct gmt_console *console, const char *text);

/* Writes a heading: an empty line, then the text in bold. */
void gmt_console_heading(const struct gmt_console *console, const char *text);

/*
 * Writes a paragraph of lines with at most 80 columns: the first line after `indent` spaces, the
 * others after `hang` spaces. Does not separate a number from its unit.
 */
void gmt_console_wrap(FILE *file, int indent, int hang, const char *text);

/* A line of code. `file` is "" and `line` 0 if they are not known. */
struct gmt_console_frame {
	const char *function, *file;
	uint32_t line;
	bool is_python;
};

/* Writes a line of code, as gmt_console_place does. */
void gmt_console_frame(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_console_frame *frame);

/*
 * Writes, for example, "train.py:31 in training_step", "at::native::empty_cuda" or "main
 * (main.cpp:12)".
 */
void gmt_console_place(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t place_id);

/*
 * Writes the user's own line, as gmt_console_place does. If only the pin thread is known, writes
 * "by PyTorch's pin-memory thread (DataLoader)".
 */
void gmt_console_own_place(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t place_id);

/* Same as above, for frame number `own_line` of a stack. Writes "(no stack)" for an empty stack. */
void gmt_console_own_line(const struct gmt_console *console, const struct gmt_recording *recording,
	const struct gmt_traces *traces, uint32_t stack, uint32_t own_line);

/* Writes, for example, "2026-11-21 06:19:56 UTC". */
void gmt_console_date(const struct gmt_console *console, uint64_t epoch_ns);

#endif

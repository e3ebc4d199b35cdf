/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_MESSAGE_H
#define GMT_TOOLS_OUTPUT_MESSAGE_H

/* Messages to the user that are not results: one line each, on stderr. */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

void gmt_message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gmt_message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gmt_message_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the text of the last error, which may be cut; "" if there was none. */
const char *gmt_message_last_error(void);

/* Prints the error. Returns its exit code (gmt_status_exit_code). */
int gmt_message_failure(const struct gmt_error *error);

/*
 * Progress of work that takes longer than half a second. It appears only on a terminal. Initialise
 * the structure with zeros.
 */
struct gmt_progress {
	uint64_t start_ns;
	uint64_t shown_ns;
	bool is_shown;
};

/*
 * Shows that `done` of `all` units are done; `all` 0: unknown, and `done` is a number of bytes.
 * `what` is the first word of the line.
 */
void gmt_progress_step(struct gmt_progress *progress, const char *what, uint64_t done,
	uint64_t all);

/* Removes the progress from the terminal. */
void gmt_progress_end(struct gmt_progress *progress);

#endif

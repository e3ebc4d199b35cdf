/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_STATUS_H
#define GMT_BASE_STATUS_H

/*
 * How functions report failure. A function that can fail returns enum gmt_status. If the result is
 * not GMT_OK, it has filled the caller's struct gmt_error with one line for the user: what failed,
 * where, and what to do. Library code never prints and never exits.
 */

enum gmt_status {
#define GMT_STATUS(status, exit_code, meaning) GMT_##status,
#include "base/status.def"
#undef GMT_STATUS
	GMT_STATUS_COUNT
};

struct gmt_error {
	enum gmt_status status;
	char text[1024]; /* one line without a newline; "" if there is no message */
};

/* Fills `error` (may be NULL) and returns `status`, so that a caller can fail in one statement. */
enum gmt_status gmt_error_set(struct gmt_error *error, enum gmt_status status, const char *format,
	...) __attribute__((format(printf, 3, 4)));

/* Returns the exit code for `status` (base/status.def). */
int gmt_status_exit_code(enum gmt_status status);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_STATUS_H
#define GMT_BASE_STATUS_H

/*
 * How functions fail. A fallible function returns enum gmt_status and, when it is not GMT_OK, has
 * filled the caller's struct gmt_error with one line for a person: what, where, and what to do.
 * Library code never prints and never exits.
 */

enum gmt_status {
#define GMT_STATUS(status, exit_code, meaning) GMT_##status,
#include "base/status.def"
#undef GMT_STATUS
	GMT_STATUS_COUNT
};

struct gmt_error {
	enum gmt_status status;
	char text[1024]; /* one line without a newline; "" when there is nothing to say */
};

/* Fills `error` (may be NULL) and returns `status`, so that failing is one statement. */
enum gmt_status gmt_error_set(struct gmt_error *error, enum gmt_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The exit code that documents `status` (architecture.md, "Errors and ownership"). */
int gmt_status_exit_code(enum gmt_status status);

#endif

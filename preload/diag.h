/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRELOAD_DIAG_H
#define GMT_PRELOAD_DIAG_H

/* The only place that writes to the host's stderr: one line, one write(2), no stdio. */

/* "gpumemtrace: ..." where verbosity is 1 or more: what the user should know. */
void gmt_diag_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Likewise, where verbosity is 2 or more: what the recorder does. */
void gmt_diag_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text as it is, whatever the verbosity (help). */
void gmt_diag_print(const char *text);

#endif

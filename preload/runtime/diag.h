/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_DIAG_H
#define GMT_RUNTIME_DIAG_H

/*
 * The only place that writes to the host's stderr: one line, one write(2), no stdio, and never one that
 * the host would have to wait for: where the pipe is full, the line is dropped. A descriptor 2 that is not
 * the stderr that the process was started with, but a data file or a connection of the host's, is left alone.
 *
 * Any thread, unless told otherwise; errno is kept.
 */

#include <stdbool.h>
#include <stdint.h>

/* From the constructor: remembers what the process's stderr is. */
void gmt_diag_init(void);

/*
 * "gpumemtrace: ..." where verbosity is 1 or more: what the user should know. The same kind (the same
 * `format`, which must be a literal) is said once in a process, and otherwise counted. True for the first.
 */
#define gmt_diag_warn(...) gmt_diag_warn_kind(GMT_DIAG_FIRST(__VA_ARGS__, 0), __VA_ARGS__)
#define GMT_DIAG_FIRST(format, ...) format

/* Likewise, of the kind that the address `kind` stands for. */
bool gmt_diag_warn_kind(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "gpumemtrace: TEXT" where verbosity is 1 or more, each time. For what is bounded otherwise. */
void gmt_diag_warn_text(const char *text);

/* Likewise, where verbosity is 2 or more: what the recorder does. */
void gmt_diag_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text as it is, whatever the verbosity (help). */
void gmt_diag_print(const char *text);

/*
 * Prints what the writer could not print itself: it has a descriptor table of its own, and not everywhere a way to the host's
 * stderr. From a thread of the host; gmt_diag_print does so first.
 */
void gmt_diag_print_kept(void);

/* The end of the process: says how often each kind was held back. Once. */
void gmt_diag_end(void);

/* In the child of a fork: nothing has been said yet. */
void gmt_diag_reset(void);

#endif

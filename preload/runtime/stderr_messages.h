/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_STDERR_MESSAGES_H
#define GMT_RUNTIME_STDERR_MESSAGES_H

/*
 * The only code that writes to the host's stderr. It writes each line with one write(2), without
 * stdio. It never makes the host wait: if the pipe is full, it drops the line. Descriptor 2 may
 * have become a data file or a connection of the host since the start of the process. Then it
 * writes nothing.
 *
 * Any thread, unless a function documents otherwise. Keeps errno.
 */

#include <stdbool.h>
#include <stdint.h>

/* Remembers what the process's stderr is. Called from the constructor. */
void gmt_stderr_init(void);

/*
 * Prints "gpumemtrace: ..." if verbosity is 1 or more: something that the user should know. A
 * message of the same kind is printed once in a process and then only counted. The kind is the
 * address of `format`, which must be a literal. Returns true for the first message of a kind.
 */
#define gmt_stderr_warn(...) gmt_stderr_warn_kind(GMT_STDERR_FIRST(__VA_ARGS__, 0), __VA_ARGS__)
#define GMT_STDERR_FIRST(format, ...) format

/* Same as above, but the address `kind` identifies the kind. */
bool gmt_stderr_warn_kind(const char *kind, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Prints "gpumemtrace: TEXT" if verbosity is 1 or more, each time. For messages whose number is
 * limited otherwise.
 */
void gmt_stderr_warn_text(const char *text);

/* Prints "gpumemtrace: ..." if verbosity is 2 or more: what the recorder does. */
void gmt_stderr_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the text unchanged, at any verbosity. Used for help. */
void gmt_stderr_print(const char *text);

/*
 * Prints the messages that the writer could not print itself. The writer has its own descriptor
 * table, and on some systems it cannot reach the host's stderr. Called from a thread of the host.
 * gmt_stderr_print calls it first.
 */
void gmt_stderr_print_kept(void);

/* Prints how often each kind of message was suppressed. Called once, at the end of the process. */
void gmt_stderr_end(void);

#endif

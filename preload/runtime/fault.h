/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_FAULT_H
#define GMT_RUNTIME_FAULT_H

/*
 * Reports a fault in the recorder's surroundings: a full disk, no shared memory, a removed file.
 * Each kind is reported once, as a line on stderr and as a note in the file, if the file can still
 * be written. The program continues in every case.
 *
 * `where` is a path at the beginning of the line; the note omits it. NULL: no path. `format` is a
 * literal, and identifies the kind. Keeps errno. Any thread.
 */
void gmt_fault(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

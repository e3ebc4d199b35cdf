/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_FAULT_H
#define GMT_RUNTIME_FAULT_H

/*
 * What goes wrong around the recorder: a full disk, no shared memory, a file that somebody removed. Told
 * twice, once of each kind: as a line on stderr, and as a note in the file, where it can still be written. The
 * program goes on in any case.
 *
 * `where` is a path that the line begins with, and the note leaves out; NULL for none. `format` is a literal, by
 * which kinds are told apart. errno is kept. Any thread.
 */
void gmt_fault(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

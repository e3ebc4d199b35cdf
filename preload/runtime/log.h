/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_LOG_H
#define GMT_RUNTIME_LOG_H

/*
 * Notes for the user that the report shows. Any folder of preload/ may add a note. The log keeps
 * the first GMT_LOG_NOTES notes of each kind, and the writer copies them into the file
 * (writer/process_metadata.c). Data flow: any folder -> log -> writer.
 *
 * Any thread. No function waits for another thread. Texts are copied.
 */

#include <stdbool.h>

enum { GMT_LOG_NOTES = 16, GMT_LOG_NOTE_BYTES = 256 };

enum gmt_log_kind {
	GMT_LOG_PROCESS,   /* also true in forked children, which inherit the note */
	GMT_LOG_RECORDING, /* true for this recording only */
	GMT_LOG_KINDS,
};

/* Adds a note about the process (GMT_LOG_PROCESS). */
void gmt_log_note(const char *text);

/* Adds a note about this recording (GMT_LOG_RECORDING). */
void gmt_log_note_recording(const char *text);

/*
 * Reports a fault in the recorder's surroundings: a full disk, no shared memory, a removed file.
 * Each kind is reported once, as a line on stderr and as a note in the file, if the file can still
 * be written. The program continues in every case.
 *
 * `where` is a path at the beginning of the line; the note omits it. NULL: no path. `format` is a
 * literal, and identifies the kind. Keeps errno.
 */
void gmt_log_fault(const char *where, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns note number `index` of a kind. Returns NULL if there is no such note, or not yet. */
const char *gmt_log_get(enum gmt_log_kind kind, unsigned index);

#endif

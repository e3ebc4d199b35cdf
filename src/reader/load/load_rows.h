/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_LOAD_ROWS_H
#define GMT_READER_LOAD_LOAD_ROWS_H

/*
 * Loads rows into a recording: every kind except events (load_events.h). Part of load. follow/ uses
 * it too, for a recording that grows.
 *
 * For one thread. False means out of memory.
 */

#include "containers/intern.h"
#include "reader/load/load_events.h"
#include "reader/load/recording.h"

/* Initialize with zeros. */
struct gmt_load_rows {
	struct gmt_recording *recording;
	struct gmt_load_events events;
	struct gmt_intern drop_keys; /* key: thread and reason; the id is the index in `drops` */
};

/*
 * Makes an empty recording with this path. It belongs to the caller, also after a failure, and is
 * freed with gmt_recording_free.
 */
bool gmt_load_rows_init(struct gmt_load_rows *loader, const char *path);

/* Loads a row, a structure of the record's kind. Copies its texts and lists. */
bool gmt_load_row(struct gmt_load_rows *loader, const struct gmt_record_info *record,
	const char *row);

/* Frees everything except the recording. */
void gmt_load_rows_fini(struct gmt_load_rows *loader);

#endif

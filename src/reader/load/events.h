/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENTS_H
#define GMT_READER_LOAD_EVENTS_H

/*
 * Events, packed: in chunks, column by column, each in as many bytes as what differs in the chunk needs. That is
 * some 10 bytes for an event, where a structure has 64; and unpacking costs a few nanoseconds, so passes over
 * all events are cheap. What is the same for many events is a shape, of which they have a number. What is more than
 * some tens of megabytes lies in a temporary file without a name (events_file.h), so that memory does not follow the
 * number of events; where there can be none, all stays in memory. One thread for each reader; nobody appends while
 * others read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/event.h"

/* An event, as it is packed. */
struct gmt_events_row {
	uint64_t stamp, address, size_bytes, more[2];
	uint32_t trace;
	uint32_t shape; /* its number */
};

enum {
	GMT_EVENTS_CHUNK = 1024, /* events of all chunks but the last */
	GMT_EVENTS_COLUMNS = 7,
	GMT_EVENTS_MOST_BYTES = 64 << 20,
};

/* Value number i is base + (the number of `width` bytes at offset + i * width << shift). */
struct gmt_events_column {
	uint64_t base;
	uint64_t offset; /* in the bytes of all chunks, those in the file first */
	uint8_t width, shift;
};

struct gmt_events_chunk {
	struct gmt_events_column columns[GMT_EVENTS_COLUMNS];
};

struct gmt_events_file;

/* Zero-initialise but for `shapes` to make one. */
struct gmt_events {
	struct gmt_shapes *shapes; /* of these and maybe other events; it lives longer */
	size_t count;
	GMT_VEC(struct gmt_events_chunk) chunks; /* full ones */
	GMT_VEC(struct gmt_events_row) tail; /* behind them, less than a chunk */
	GMT_VEC(uint8_t) bytes;  /* that are in memory */
	struct gmt_events_file *file; /* with those before them; NULL: none */
	uint64_t file_bytes;
	size_t most_bytes; /* that stay in memory; 0: GMT_EVENTS_MOST_BYTES */
	bool has_no_file;  /* there can be none */
};

/* Appends an event; its kind, layer and space are of those that this version knows. False when out of memory. */
bool gmt_events_push(struct gmt_events *events, const struct gmt_snapshot_event *event);

/* Likewise of many, which cost less each: rows[0] to rows[count - 1], on shapes of the events'. */
bool gmt_events_push_rows(struct gmt_events *events, const struct gmt_events_row *const *rows, size_t count);

/* The row of an event. False when out of memory. */
bool gmt_events_row_of(struct gmt_shapes *shapes, const struct gmt_snapshot_event *event, struct gmt_events_row *ret_row);

/* Gives the events from `first`, a multiple of GMT_EVENTS_CHUNK, on other traces: of a whole chunk, or the tail. */
bool gmt_events_set_traces(struct gmt_events *events, size_t first, const uint32_t *traces);

struct gmt_events_reader;

/*
 * Takes the last events out again: of a chunk, or the tail. They are reader->rows, until it is used again; how many they
 * are, or 0: there are none, or they lie in the file. Of events whose traces were not set; `reader` is of all fields.
 */
size_t gmt_events_take_back(struct gmt_events *events, struct gmt_events_reader *reader);

/* Whether a reader could not read back what lies in the file: it gave zeros instead. */
bool gmt_events_failed(const struct gmt_events *events);

void gmt_events_fini(struct gmt_events *events);

/*
 * What a pass looks at besides thread, result, api, context, device, kind, layer and space, which it always gets: each
 * column less is a fifth less to do. Fields of others hold anything (in a build with AddressSanitizer, rubbish).
 */
enum gmt_events_fields {
	GMT_EVENTS_STAMP = 1 << 0,
	GMT_EVENTS_ADDRESS = 1 << 1,
	GMT_EVENTS_SIZE = 1 << 2,
	GMT_EVENTS_MORE = 1 << 3,
	GMT_EVENTS_TRACE = 1 << 4,
	GMT_EVENTS_ALL = (1 << 5) - 1,
};

/* Reads events one after the other, or here and there. */
struct gmt_events_reader {
	const struct gmt_events *events;
	size_t first, count; /* the events that rows has; none at first */
	struct gmt_snapshot_event *rows;
	struct gmt_snapshot_event *shapes; /* the first ones, as events */
	size_t shape_count;
	uint8_t *column; /* one that lies in the file */
	unsigned fields; /* enum gmt_events_fields, or-ed */
};

/* False when out of memory; gmt_events_reader_fini in any case. Of events that no longer change. */
bool gmt_events_reader_init(struct gmt_events_reader *ret_reader, const struct gmt_events *events, unsigned fields);

/* For gmt_events_at. */
void gmt_events_unpack(struct gmt_events_reader *reader, size_t index);

/* Event number `index`, which is there; good until one of another chunk is asked for. */
static inline const struct gmt_snapshot_event *gmt_events_at(struct gmt_events_reader *reader, size_t index)
{
	if (index - reader->first >= reader->count)
		gmt_events_unpack(reader, index);
	return &reader->rows[index - reader->first];
}

void gmt_events_reader_fini(struct gmt_events_reader *reader);

#endif

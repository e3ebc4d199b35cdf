/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENTS_H
#define GMT_READER_LOAD_EVENTS_H

/*
 * Packed events. They lie in chunks, column by column. Each column uses only as many bytes for an
 * event as the differences in the chunk need. An event takes about 10 bytes; the structure takes
 * 64. Unpacking costs a few nanoseconds for each event, so passes over all events are cheap. The
 * fields that many events share form a shape; an event stores only the number of its shape.
 *
 * Beyond some tens of megabytes, the packed bytes go to a temporary file without a name
 * (events_file.h). So the memory in use does not grow with the number of events. If no file can be
 * created, all bytes stay in memory.
 *
 * One thread for each gmt_events_reader. Do not append while others read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/load/event_shape.h"

/* An event in the form in which it is packed. */
struct gmt_events_row {
	uint64_t stamp, address, size_bytes, more[2];
	uint32_t trace;
	uint32_t shape; /* number of its shape */
};

enum {
	GMT_EVENTS_CHUNK = 1024, /* events in a chunk; the tail may have fewer */
	GMT_EVENTS_COLUMNS = 7,
	GMT_EVENTS_MAX_BYTES = 64 << 20,
};

/* Value number i is base + (the number of `width` bytes at offset + i * width << shift). */
struct gmt_events_column {
	uint64_t base;
	uint64_t offset; /* position in the bytes of all chunks; the file's bytes come first */
	uint8_t width, shift;
};

struct gmt_events_chunk {
	struct gmt_events_column columns[GMT_EVENTS_COLUMNS];
};

struct gmt_events_file;

/* Initialize with zeros, then set `shapes`. */
struct gmt_events {
	struct gmt_event_shapes *shapes; /* borrowed; other events may share it */
	size_t count;
	GMT_VEC(struct gmt_events_chunk) chunks; /* full chunks */
	GMT_VEC(struct gmt_events_row) tail; /* events after the chunks, at most one chunk */
	GMT_VEC(uint8_t) bytes;  /* packed bytes that are in memory */
	struct gmt_events_file *file; /* the packed bytes before `bytes`; NULL: no file */
	uint64_t file_bytes;
	size_t max_bytes; /* limit of `bytes` in memory; 0: GMT_EVENTS_MAX_BYTES */
	bool has_no_file;  /* the file could not be created, or is full */
};

/*
 * Appends an event. This version must know its kind, layer and space. Returns false when out of
 * memory.
 */
bool gmt_events_push(struct gmt_events *events, const struct gmt_recording_event *event);

/*
 * Appends rows[0] to rows[count - 1]. Cheaper per event than gmt_events_push. The rows hold numbers
 * of events->shapes. Returns false when out of memory.
 */
bool gmt_events_push_rows(struct gmt_events *events, const struct gmt_events_row *const *rows,
	size_t count);

/* Fills `ret_row` from an event. Returns false when out of memory. */
bool gmt_events_row_of(struct gmt_event_shapes *shapes, const struct gmt_recording_event *event,
	struct gmt_events_row *ret_row);

/*
 * Replaces the traces of the events from `first` on: of one full chunk, or of the tail. `first` is
 * a multiple of GMT_EVENTS_CHUNK. Returns false when out of memory.
 */
bool gmt_events_set_traces(struct gmt_events *events, size_t first, const uint32_t *traces);

struct gmt_events_reader;

/*
 * Removes the last events: the tail, or else the last chunk. They are then in reader->rows, until
 * the next use of the reader. Returns how many they are. Returns 0 if no event is left, or the last
 * events lie in the file. The traces of these events must not have been replaced. `reader` must
 * read all fields.
 */
size_t gmt_events_take_back(struct gmt_events *events, struct gmt_events_reader *reader);

/*
 * Returns whether reading the temporary file failed. Readers then received zeros instead of events.
 */
bool gmt_events_failed(const struct gmt_events *events);

void gmt_events_fini(struct gmt_events *events);

/*
 * The columns that a reader unpacks. A reader always gets thread, result, api, context, device,
 * kind, layer and space. Each column less saves a fifth of the work. Fields that were not requested
 * are undefined. In a build with AddressSanitizer, they hold garbage on purpose.
 */
enum gmt_events_fields {
	GMT_EVENTS_STAMP = 1 << 0,
	GMT_EVENTS_ADDRESS = 1 << 1,
	GMT_EVENTS_SIZE = 1 << 2,
	GMT_EVENTS_MORE = 1 << 3,
	GMT_EVENTS_TRACE = 1 << 4,
	GMT_EVENTS_ALL = (1 << 5) - 1,
};

/* Reads events in sequence or at random. */
struct gmt_events_reader {
	const struct gmt_events *events;
	size_t first, count; /* the events that `rows` holds; no events at first */
	struct gmt_recording_event *rows;
	struct gmt_recording_event *shapes; /* the first shapes, unpacked as events */
	size_t shape_count;
	uint8_t *column; /* buffer for a column that lies in the file */
	unsigned fields; /* enum gmt_events_fields, or-ed */
};

/*
 * Prepares a reader of events that no longer change. Returns false when out of memory. The caller
 * must call gmt_events_reader_fini in both cases.
 */
bool gmt_events_reader_init(struct gmt_events_reader *ret_reader, const struct gmt_events *events,
	unsigned fields);

/* Slow path of gmt_events_at: unpacks the chunk that contains event `index`. */
void gmt_events_unpack(struct gmt_events_reader *reader, size_t index);

/*
 * Returns event number `index`, which must exist. The pointer is valid until the caller requests an
 * event of another chunk.
 */
static inline const struct gmt_recording_event *gmt_events_at(struct gmt_events_reader *reader,
	size_t index)
{
	if (index - reader->first >= reader->count)
		gmt_events_unpack(reader, index);
	return &reader->rows[index - reader->first];
}

void gmt_events_reader_fini(struct gmt_events_reader *reader);

#endif

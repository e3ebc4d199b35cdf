/* SPDX-License-Identifier: MIT */
#include "reader/load/events.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/pages.h"
#include "base/sanitizer.h"
#include "reader/load/events_file.h"

enum column { STAMP, ADDRESS, SIZE, MORE_0, MORE_1, TRACE, SHAPE };

/* Room after the last value: values are read and written up to 8 bytes at a time. */
enum { PAD_BYTES = 8, COLUMN_BYTES = GMT_EVENTS_CHUNK * sizeof(uint64_t) + PAD_BYTES };
enum { ROWS_BYTES = GMT_EVENTS_CHUNK * sizeof(struct gmt_recording_event) };

/*
 * A recording has some tens of shapes. A reader keeps the first ones as rows, so that using them
 * costs only a copy.
 */
enum { CACHED_SHAPES = 256, SHAPES_BYTES = CACHED_SHAPES * sizeof(struct gmt_recording_event) };

/* Returns how many bytes to load or store for a value of `width` bytes, in a single instruction. */
static inline __attribute__((always_inline)) size_t bytes_at_once(size_t width)
{
	return width == 3 ? 4 : width > 4 ? 8 : width;
}

/* Calls macro(width) with the column's width as a constant. */
#define OF_WIDTH(column, macro) \
	switch ((column)->width) { \
	case 1: \
		macro(1); \
		break; \
	case 2: \
		macro(2); \
		break; \
	case 3: \
		macro(3); \
		break; \
	case 4: \
		macro(4); \
		break; \
	case 5: \
		macro(5); \
		break; \
	case 6: \
		macro(6); \
		break; \
	case 7: \
		macro(7); \
		break; \
	case 8: \
		macro(8); \
		break; \
	default: \
		macro(0); \
		break; \
	}

/* Inlined, so that the compiler makes one version for each width. */
static inline __attribute__((always_inline)) void pack_words(const struct gmt_events_column *column,
	const uint64_t *values, size_t width, uint8_t *to)
{
	for (size_t i = 0; width && i < GMT_EVENTS_CHUNK; i++, to += width) {
		uint64_t value = htole64((values[i] - column->base) >> column->shift);

		memcpy(to, &value, bytes_at_once(width)); /* the next value overwrites the surplus bytes */
	}
}

/*
 * Packs a column at `to`, which has room for 8 bytes per value. Returns the address after the
 * column.
 */
static uint8_t *pack(struct gmt_events_column *column, const uint64_t *values, uint8_t *to)
{
	uint64_t bits = 0; /* the bits that differ between values */

	for (size_t i = 1; i < GMT_EVENTS_CHUNK; i++)
		bits |= values[i] ^ values[0];
	column->base = values[0];
	column->shift = column->width = 0;
	if (bits) {
		unsigned above = (unsigned)__builtin_clzll(bits), below = (unsigned)__builtin_ctzll(bits);

		/* Bits above and below the differing bits are the same in all values. `base` holds them. */
		column->base &= ~(UINT64_MAX >> above & UINT64_MAX << below);
		column->shift = (uint8_t)below;
		column->width = (uint8_t)((64 - above - below + 7) / 8);
	}
#define PACK(width) pack_words(column, values, width, to)
	OF_WIDTH(column, PACK)
#undef PACK
	return to + (size_t)column->width * GMT_EVENTS_CHUNK;
}

/* Packs a column after all other packed bytes. */
static bool add_column(struct gmt_events *events, struct gmt_events_column *column,
	const uint64_t *values)
{
	if (!gmt_vec_reserve(&events->bytes, COLUMN_BYTES))
		return false;

	uint8_t *to = events->bytes.items + events->bytes.count;
	column->offset = events->file_bytes + events->bytes.count;
	events->bytes.count += (size_t)(pack(column, values, to) - to);
	return true;
}

/*
 * Moves the bytes in memory to the file if they exceed the limit. If the disk is full, the bytes
 * stay in memory, which may still have room.
 */
static void move_to_file(struct gmt_events *events)
{
	size_t max_bytes = events->max_bytes ? events->max_bytes : GMT_EVENTS_MAX_BYTES;

	if (events->bytes.count < max_bytes || events->has_no_file)
		return;
	if (!events->file)
		events->file = gmt_events_file_open();
	if (!events->file ||
		!gmt_events_file_write(events->file, events->file_bytes, events->bytes.items,
			events->bytes.count)) {
		events->has_no_file = true;
		return;
	}
	events->file_bytes += events->bytes.count;
	events->bytes.count = 0;
}

/*
 * Splits GMT_EVENTS_CHUNK rows into columns. Visits each row only once, because the rows do not fit
 * in the processor's caches.
 */
static void list_values(const struct gmt_events_row *const *rows,
	uint64_t (*ret_values)[GMT_EVENTS_CHUNK])
{
	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++) {
		const struct gmt_events_row *row = rows[i];

		ret_values[STAMP][i] = row->stamp;
		ret_values[ADDRESS][i] = row->address;
		ret_values[SIZE][i] = row->size_bytes;
		ret_values[MORE_0][i] = row->more[0];
		ret_values[MORE_1][i] = row->more[1];
		ret_values[TRACE][i] = row->trace;
		ret_values[SHAPE][i] = row->shape;
	}
}

/* Packs GMT_EVENTS_CHUNK rows as a chunk. */
static bool pack_chunk(struct gmt_events *events, const struct gmt_events_row *const *rows)
{
	struct gmt_events_chunk chunk;
	uint64_t values[GMT_EVENTS_COLUMNS][GMT_EVENTS_CHUNK];

	list_values(rows, values);
	for (size_t i = 0; i < GMT_EVENTS_COLUMNS; i++)
		if (!add_column(events, &chunk.columns[i], values[i]))
			return false;

	struct gmt_events_chunk *slot = gmt_vec_push(&events->chunks);
	if (!slot)
		return false;
	*slot = chunk;
	move_to_file(events);
	return true;
}

static bool pack_tail(struct gmt_events *events)
{
	const struct gmt_events_row *rows[GMT_EVENTS_CHUNK];

	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++)
		rows[i] = &events->tail.items[i];
	if (!pack_chunk(events, rows))
		return false;
	events->tail.count = 0;
	return true;
}

static bool push_row(struct gmt_events *events, const struct gmt_events_row *row)
{
	struct gmt_events_row *slot;

	if (events->tail.count == GMT_EVENTS_CHUNK && !pack_tail(events))
		return false;
	slot = gmt_vec_push(&events->tail);
	if (!slot)
		return false;
	*slot = *row;
	events->count++;
	return true;
}

bool gmt_events_push_rows(struct gmt_events *events, const struct gmt_events_row *const *rows,
	size_t count)
{
	size_t done = 0;

	while (done < count) {
		if (events->tail.count == GMT_EVENTS_CHUNK && !pack_tail(events))
			return false;
		if (!events->tail.count && count - done >= GMT_EVENTS_CHUNK) {
			if (!pack_chunk(events, rows + done))
				return false;
			events->count += GMT_EVENTS_CHUNK;
			done += GMT_EVENTS_CHUNK;
		} else if (!push_row(events, rows[done++])) {
			return false;
		}
	}
	return true;
}

bool gmt_events_row_of(struct gmt_event_shapes *shapes, const struct gmt_recording_event *event,
	struct gmt_events_row *ret_row)
{
	struct gmt_event_shape shape = gmt_event_shape_of(event);

	*ret_row = (struct gmt_events_row){
		.stamp = event->stamp,
		.address = event->address,
		.size_bytes = event->size_bytes,
		.more = { event->more[0], event->more[1] },
		.trace = event->trace,
	};
	return gmt_event_shapes_find(shapes, &shape, &ret_row->shape);
}

static struct gmt_recording_event event_of(const struct gmt_event_shapes *shapes,
	const struct gmt_events_row *row)
{
	struct gmt_recording_event event = {
		.stamp = row->stamp,
		.address = row->address,
		.size_bytes = row->size_bytes,
		.more = { row->more[0], row->more[1] },
		.trace = row->trace,
	};

	gmt_event_shape_set(&event, gmt_event_shapes_get(shapes, row->shape));
	return event;
}

bool gmt_events_push(struct gmt_events *events, const struct gmt_recording_event *event)
{
	struct gmt_events_row row;

	return gmt_events_row_of(events->shapes, event, &row) && push_row(events, &row);
}

size_t gmt_events_take_back(struct gmt_events *events, struct gmt_events_reader *reader)
{
	size_t first = (events->count - (events->count > 0)) / GMT_EVENTS_CHUNK * GMT_EVENTS_CHUNK,
		   count;

	if (!events->count ||
		(!events->tail.count &&
			events->chunks.items[events->chunks.count - 1].columns[0].offset < events->file_bytes))
		return 0;
	gmt_events_unpack(reader, first);
	count = reader->count;
	reader->count = 0;
	if (events->tail.count)
		events->tail.count = 0;
	else
		events->bytes.count =
			events->chunks.items[--events->chunks.count].columns[0].offset - events->file_bytes;
	events->count -= count;
	return count;
}

bool gmt_events_set_traces(struct gmt_events *events, size_t first, const uint32_t *traces)
{
	size_t number = first / GMT_EVENTS_CHUNK;
	uint64_t values[GMT_EVENTS_CHUNK];

	if (number == events->chunks.count) {
		for (size_t i = 0; i < events->tail.count; i++)
			events->tail.items[i].trace = traces[i];
		return true;
	}
	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++)
		values[i] = traces[i];
	if (!add_column(events, &events->chunks.items[number].columns[TRACE], values))
		return false;
	move_to_file(events);
	return true;
}

bool gmt_events_failed(const struct gmt_events *events)
{
	return events->file && gmt_events_file_failed(events->file);
}

void gmt_events_fini(struct gmt_events *events)
{
	gmt_vec_fini(&events->chunks);
	gmt_vec_fini(&events->tail);
	gmt_vec_fini(&events->bytes);
	gmt_events_file_close(events->file);
	events->file = NULL;
}

bool gmt_events_reader_init(struct gmt_events_reader *ret_reader, const struct gmt_events *events,
	unsigned fields)
{
	*ret_reader = (struct gmt_events_reader){
		.events = events,
		.fields = fields,
		.rows = gmt_pages_grow(NULL, 0, ROWS_BYTES),
		.shapes = gmt_pages_grow(NULL, 0, SHAPES_BYTES),
		.column = gmt_pages_grow(NULL, 0, COLUMN_BYTES),
	};
	return ret_reader->rows && ret_reader->shapes && ret_reader->column;
}

/* Returns the packed bytes of a column. They are valid until the next call. */
static const uint8_t *find_column(const struct gmt_events_reader *reader,
	const struct gmt_events_column *column)
{
	const struct gmt_events *events = reader->events;

	if (column->offset >= events->file_bytes)
		return events->bytes.items + (column->offset - events->file_bytes);
	gmt_events_file_read(events->file, column->offset, reader->column,
		(size_t)column->width * GMT_EVENTS_CHUNK);
	return reader->column;
}

/*
 * Inlined, so that the compiler makes one version for each width: a value is one load, with a mask
 * only where needed.
 */
static inline __attribute__((always_inline)) uint64_t number_at(const uint8_t *at, size_t width)
{
	uint64_t value = 0;

	/* does not read past the buffer: PAD_BYTES follow the last value */
	memcpy(&value, at, bytes_at_once(width));
	value = le64toh(value);
	return width == 3 || (width > 4 && width < 8) ? value & (((uint64_t)1 << width * 8) - 1)
												  : value;
}

static inline __attribute__((always_inline)) void unpack_words(
	const struct gmt_events_column *column, const uint8_t *at, size_t width, uint64_t *to)
{
	enum { STEP = sizeof(struct gmt_recording_event) / sizeof(*to) };
	uint64_t base = column->base;
	unsigned shift = column->shift;

	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++, at += width)
		to[i * STEP] = base + (number_at(at, width) << shift);
}

/* Unpacks a column into the field that `to` points to in the first row. */
static void unpack(const struct gmt_events_reader *reader, const struct gmt_events_column *column,
	uint64_t *to)
{
	const uint8_t *at = find_column(reader, column);

#define UNPACK(width) unpack_words(column, at, width, to)
	OF_WIDTH(column, UNPACK)
#undef UNPACK
}

static inline __attribute__((always_inline)) void unpack_traces_of(
	const struct gmt_events_column *column, const uint8_t *at, size_t width,
	struct gmt_recording_event *rows)
{
	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++, at += width)
		rows[i].trace = (uint32_t)(column->base + (number_at(at, width) << column->shift));
}

static void unpack_traces(const struct gmt_events_reader *reader,
	const struct gmt_events_column *column)
{
	const uint8_t *at = find_column(reader, column);

#define UNPACK(width) unpack_traces_of(column, at, width, reader->rows)
	OF_WIDTH(column, UNPACK)
#undef UNPACK
}

static inline __attribute__((always_inline)) void unpack_shapes_of(
	const struct gmt_events_reader *reader, const struct gmt_events_column *column,
	const uint8_t *at, size_t width)
{
	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++, at += width) {
		uint64_t number = column->base + (number_at(at, width) << column->shift);

		if (number < reader->shape_count)
			reader->rows[i] = reader->shapes[number];
		else
			gmt_event_shape_set(&reader->rows[i],
				gmt_event_shapes_get(reader->events->shapes, number));
	}
}

/* Writes whole rows. Call before all other columns are unpacked. */
static void unpack_shapes(struct gmt_events_reader *reader, const struct gmt_events_column *column)
{
	const struct gmt_event_shapes *shapes = reader->events->shapes;
	const uint8_t *at = find_column(reader, column);

	for (;
		reader->shape_count < CACHED_SHAPES && reader->shape_count < gmt_event_shapes_count(shapes);
		reader->shape_count++)
		gmt_event_shape_set(&reader->shapes[reader->shape_count],
			gmt_event_shapes_get(shapes, reader->shape_count));
#define UNPACK(width) unpack_shapes_of(reader, column, at, width)
	OF_WIDTH(column, UNPACK)
#undef UNPACK
}

/*
 * Fills the fields that the reader did not request with garbage, so that a use of them shows in
 * tests. Only in builds with AddressSanitizer.
 */
static void poison_others(const struct gmt_events_reader *reader)
{
	enum { POISON = 0xa5 };

	for (size_t i = 0; i < reader->count; i++) {
		struct gmt_recording_event *row = &reader->rows[i];

		if (!(reader->fields & GMT_EVENTS_STAMP))
			memset(&row->stamp, POISON, sizeof(row->stamp));
		if (!(reader->fields & GMT_EVENTS_ADDRESS))
			memset(&row->address, POISON, sizeof(row->address));
		if (!(reader->fields & GMT_EVENTS_SIZE))
			memset(&row->size_bytes, POISON, sizeof(row->size_bytes));
		if (!(reader->fields & GMT_EVENTS_MORE))
			memset(row->more, POISON, sizeof(row->more));
		if (!(reader->fields & GMT_EVENTS_TRACE))
			memset(&row->trace, POISON, sizeof(row->trace));
	}
}

static void unpack_chunk(struct gmt_events_reader *reader, const struct gmt_events_column *columns)
{
	struct gmt_recording_event *rows = reader->rows;

	unpack_shapes(reader, &columns[SHAPE]);
	if (reader->fields & GMT_EVENTS_STAMP)
		unpack(reader, &columns[STAMP], &rows->stamp);
	if (reader->fields & GMT_EVENTS_ADDRESS)
		unpack(reader, &columns[ADDRESS], &rows->address);
	if (reader->fields & GMT_EVENTS_SIZE)
		unpack(reader, &columns[SIZE], &rows->size_bytes);
	if (reader->fields & GMT_EVENTS_MORE) {
		unpack(reader, &columns[MORE_0], &rows->more[0]);
		unpack(reader, &columns[MORE_1], &rows->more[1]);
	}
	if (reader->fields & GMT_EVENTS_TRACE)
		unpack_traces(reader, &columns[TRACE]);
}

void gmt_events_unpack(struct gmt_events_reader *reader, size_t index)
{
	const struct gmt_events *events = reader->events;
	size_t number = index / GMT_EVENTS_CHUNK;

	assert(index < events->count);
	reader->first = number * GMT_EVENTS_CHUNK;
	if (number == events->chunks.count) {
		reader->count = events->tail.count;
		for (size_t i = 0; i < events->tail.count; i++)
			reader->rows[i] = event_of(events->shapes, &events->tail.items[i]);
	} else {
		reader->count = GMT_EVENTS_CHUNK;
		unpack_chunk(reader, events->chunks.items[number].columns);
	}
	if (GMT_WITH_ASAN)
		poison_others(reader);
}

void gmt_events_reader_fini(struct gmt_events_reader *reader)
{
	gmt_pages_free(reader->rows, ROWS_BYTES);
	gmt_pages_free(reader->shapes, SHAPES_BYTES);
	gmt_pages_free(reader->column, COLUMN_BYTES);
	reader->rows = reader->shapes = NULL;
	reader->column = NULL;
}

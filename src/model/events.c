/* SPDX-License-Identifier: MIT */
#include "model/events.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/map.h"
#include "base/pages.h"
#include "model/events_file.h"

enum column { STAMP, ADDRESS, SIZE, MORE_0, MORE_1, TRACE, SHAPE };

/* Behind the last value: they are read by eight bytes. */
enum { PAD_BYTES = 8, COLUMN_BYTES = GMT_EVENTS_CHUNK * sizeof(uint64_t) + PAD_BYTES };
enum { ROWS_BYTES = GMT_EVENTS_CHUNK * sizeof(struct gmt_snapshot_event) };

/* What many events have in common, as bits without gaps: equal shapes have equal bytes. */
struct shape {
	uint64_t key[2];
};

static struct shape shape_of(const struct gmt_snapshot_event *event)
{
	return (struct shape){ {
		(uint64_t)event->thread << 32 | event->result,
		(uint64_t)event->api << 48 | (uint64_t)event->context << 32 | (uint64_t)(uint16_t)event->device << 16 |
			(uint64_t)event->kind << 11 | (uint64_t)event->layer << 8 | event->space,
	} };
}

static void set_shape(struct gmt_snapshot_event *event, const struct shape *shape)
{
	uint64_t low = shape->key[1];

	event->thread = (uint32_t)(shape->key[0] >> 32);
	event->result = (uint32_t)shape->key[0];
	event->api = (uint16_t)(low >> 48);
	event->context = (uint16_t)(low >> 32);
	event->device = (int16_t)(uint16_t)(low >> 16);
	event->kind = low >> 11 & 31;
	event->layer = low >> 8 & 7;
	event->space = (uint8_t)low;
}

/* The number of the event's shape; a handful of them make up nearly all events of a stretch. */
static bool find_shape(struct gmt_events *events, const struct gmt_snapshot_event *event, uint64_t *ret_number)
{
	struct shape shape = shape_of(event);
	struct gmt_events_known *known = &events->known[gmt_hash_u64(shape.key[0] + shape.key[1] * 31) %
		GMT_EVENTS_KNOWN_SHAPES];
	uint32_t number;

	assert(event->kind < 32 && event->layer < 8);
	if (!known->shape_plus_1 || memcmp(known->key, shape.key, sizeof(shape.key)) != 0) {
		if (!gmt_intern(&events->shapes, &shape, sizeof(shape), &number))
			return false;
		memcpy(known->key, shape.key, sizeof(shape.key));
		known->shape_plus_1 = number + 1;
	}
	*ret_number = known->shape_plus_1 - 1;
	return true;
}

/* Packs a column at `to`, which has room for 8 bytes each; returns the address behind it. */
static uint8_t *pack(struct gmt_events_column *column, const uint64_t *values, uint8_t *to)
{
	uint64_t least = values[0], bits = 0;

	for (size_t i = 1; i < GMT_EVENTS_CHUNK; i++)
		least = values[i] < least ? values[i] : least;
	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++)
		bits |= values[i] - least;
	column->base = least;
	column->shift = bits ? (uint8_t)__builtin_ctzll(bits) : 0;
	column->width = bits ? (uint8_t)((64 - __builtin_clzll(bits) - column->shift + 7) / 8) : 0;
	for (size_t i = 0; column->width && i < GMT_EVENTS_CHUNK; i++, to += column->width) {
		uint64_t value = htole64((values[i] - least) >> column->shift);

		memcpy(to, &value, sizeof(value)); /* the next one overwrites what is too much */
	}
	return to;
}

/* Packs a column behind all that is there. */
static bool add_column(struct gmt_events *events, struct gmt_events_column *column, const uint64_t *values)
{
	if (!gmt_vec_reserve(&events->bytes, COLUMN_BYTES))
		return false;

	uint8_t *to = events->bytes.items + events->bytes.count;
	column->offset = events->file_bytes + events->bytes.count;
	events->bytes.count += (size_t)(pack(column, values, to) - to);
	return true;
}

/* Puts what is too much into the file. A disk that is full is no reason to give up: memory may have room. */
static void spare_memory(struct gmt_events *events)
{
	size_t most_bytes = events->most_bytes ? events->most_bytes : GMT_EVENTS_MOST_BYTES;

	if (events->bytes.count < most_bytes || events->has_no_file)
		return;
	if (!events->file)
		events->file = gmt_events_file_open();
	if (!events->file ||
		!gmt_events_file_write(events->file, events->file_bytes, events->bytes.items, events->bytes.count)) {
		events->has_no_file = true;
		return;
	}
	events->file_bytes += events->bytes.count;
	events->bytes.count = 0;
}

static bool pack_chunk(struct gmt_events *events)
{
	const struct gmt_snapshot_event *rows = events->tail.items;
	struct gmt_events_chunk chunk;
	uint64_t values[GMT_EVENTS_CHUNK];

#define ADD(number, field) \
	do { \
		for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++) \
			values[i] = rows[i].field; \
		if (!add_column(events, &chunk.columns[number], values)) \
			return false; \
	} while (0)
	ADD(STAMP, stamp);
	ADD(ADDRESS, address);
	ADD(SIZE, size_bytes);
	ADD(MORE_0, more[0]);
	ADD(MORE_1, more[1]);
	ADD(TRACE, trace);
#undef ADD
	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++)
		if (!find_shape(events, &rows[i], &values[i]))
			return false;
	if (!add_column(events, &chunk.columns[SHAPE], values))
		return false;

	struct gmt_events_chunk *slot = gmt_vec_push(&events->chunks);
	if (!slot)
		return false;
	*slot = chunk;
	events->tail.count = 0;
	spare_memory(events);
	return true;
}

bool gmt_events_push(struct gmt_events *events, const struct gmt_snapshot_event *event)
{
	struct gmt_snapshot_event *slot;

	if (events->tail.count == GMT_EVENTS_CHUNK && !pack_chunk(events))
		return false;
	slot = gmt_vec_push(&events->tail);
	if (!slot)
		return false;
	*slot = *event;
	events->count++;
	return true;
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
	spare_memory(events);
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
	gmt_intern_fini(&events->shapes);
}

bool gmt_events_reader_init(struct gmt_events_reader *ret_reader, const struct gmt_events *events)
{
	*ret_reader = (struct gmt_events_reader){
		.events = events, .rows = gmt_pages_grow(NULL, 0, ROWS_BYTES),
		.column = gmt_pages_grow(NULL, 0, COLUMN_BYTES),
	};
	return ret_reader->rows && ret_reader->column;
}

/* Where the column is, until the next one is asked for. */
static const uint8_t *find_column(const struct gmt_events_reader *reader, const struct gmt_events_column *column)
{
	const struct gmt_events *events = reader->events;

	if (column->offset >= events->file_bytes)
		return events->bytes.items + (column->offset - events->file_bytes);
	gmt_events_file_read(events->file, column->offset, reader->column, (size_t)column->width * GMT_EVENTS_CHUNK);
	return reader->column;
}

#define UNPACK(reader, column, field) \
	do { \
		struct gmt_snapshot_event *rows = (reader)->rows; \
		const uint8_t *at = find_column((reader), (column)); \
		uint64_t base = (column)->base, value; \
		for (size_t i = 0; !(column)->width && i < GMT_EVENTS_CHUNK; i++) \
			rows[i].field = base; \
		uint64_t mask = (column)->width == 8 ? UINT64_MAX : ((uint64_t)1 << (column)->width * 8) - 1; \
		size_t width = (column)->width; \
		unsigned shift = (column)->shift; \
		for (size_t i = 0; width && i < GMT_EVENTS_CHUNK; i++, at += width) { \
			memcpy(&value, at, sizeof(value)); \
			rows[i].field = base + ((le64toh(value) & mask) << shift); \
		} \
	} while (0)

static void unpack_shapes(const struct gmt_events_reader *reader, const struct gmt_events_column *column)
{
	const struct gmt_events *events = reader->events;
	const uint8_t *at = find_column(reader, column);
	uint64_t mask = ((uint64_t)1 << column->width * 8) - 1, value; /* numbers have 4 bytes at most */

	for (size_t i = 0; i < GMT_EVENTS_CHUNK; i++, at += column->width) {
		memcpy(&value, at, sizeof(value));
		value = column->base + ((le64toh(value) & mask) << column->shift);
		set_shape(&reader->rows[i], events->shapes.entries.items[value].bytes);
	}
}

void gmt_events_unpack(struct gmt_events_reader *reader, size_t index)
{
	const struct gmt_events *events = reader->events;
	const struct gmt_events_column *columns;
	size_t number = index / GMT_EVENTS_CHUNK;

	assert(index < events->count);
	reader->first = number * GMT_EVENTS_CHUNK;
	if (number == events->chunks.count) {
		reader->count = events->tail.count;
		memcpy(reader->rows, events->tail.items, events->tail.count * sizeof(*reader->rows));
		return;
	}
	reader->count = GMT_EVENTS_CHUNK;
	columns = events->chunks.items[number].columns;
	UNPACK(reader, &columns[STAMP], stamp);
	UNPACK(reader, &columns[ADDRESS], address);
	UNPACK(reader, &columns[SIZE], size_bytes);
	UNPACK(reader, &columns[MORE_0], more[0]);
	UNPACK(reader, &columns[MORE_1], more[1]);
	UNPACK(reader, &columns[TRACE], trace);
	unpack_shapes(reader, &columns[SHAPE]);
}

void gmt_events_reader_fini(struct gmt_events_reader *reader)
{
	gmt_pages_free(reader->rows, ROWS_BYTES);
	gmt_pages_free(reader->column, COLUMN_BYTES);
	reader->rows = NULL;
	reader->column = NULL;
}

/* SPDX-License-Identifier: MIT */
#include "tools/import/nsight_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/import/nsight_phases.h"
#include "tools/import/nsight_writer.h"

/* Times from this one on (in 1973) are since the Unix epoch. Smaller times are since the start. */
#define EPOCH_NS INT64_C(100000000000000000)

enum { MAX_FRAMES = 65536, OPERATION_ALLOCATION = 0, OPERATION_DEALLOCATION = 1 };

/* The kinds of memory of Nsight Systems (ENUM_CUDA_MEM_KIND), by number. */
static const uint8_t spaces[] = {
	GMT_SPACE_REGISTERED, /* pageable */
	GMT_SPACE_PINNED,
	GMT_SPACE_DEVICE,
	GMT_SPACE_ARRAY,
	GMT_SPACE_MANAGED,
	GMT_SPACE_MODULE, /* variables of loaded code, in the device's memory */
	GMT_SPACE_MANAGED, /* managed variables */
	GMT_SPACE_DEVICE,  /* not known */
};

/* --- stacks ----------------------------------------------------------------------------------- */

/* Returns the index of a chain's first frame. */
static size_t first_frame(const struct gmt_nsight_rows *rows, int64_t chain)
{
	size_t first = 0, last = rows->frames.count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (rows->frames.items[middle].chain < chain)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

static bool write_frame(struct gmt_nsight_writer *writer, const struct gmt_nsight_frame *frame,
	uint32_t *ret_id)
{
	struct gmt_nsight_text symbol = gmt_nsight_rows_text(&writer->rows, frame->symbol);
	struct gmt_nsight_text module = gmt_nsight_rows_text(&writer->rows, frame->module);
	struct gmt_import_frame row = { .is_native = true };

	return gmt_import_text(&writer->output, symbol.text, symbol.length, &row.function) &&
		gmt_import_text(&writer->output, module.text, module.length, &row.file) &&
		gmt_import_frame(&writer->output, &row, ret_id);
}

static bool find_stack(struct gmt_nsight_writer *writer, int64_t chain, uint32_t *ret_stack)
{
	const struct gmt_nsight_rows *rows = &writer->rows;
	uint64_t known;

	*ret_stack = 0;
	if (!chain)
		return true;
	if (gmt_map_find(&writer->stacks, (uint64_t)chain, &known)) {
		*ret_stack = (uint32_t)known;
		return true;
	}
	writer->frames.count = 0;
	for (size_t i = first_frame(rows, chain); i < rows->frames.count &&
		rows->frames.items[i].chain == chain && writer->frames.count < MAX_FRAMES;
		i++) {
		uint32_t *slot = gmt_vec_push(&writer->frames);

		if (!slot || !write_frame(writer, &rows->frames.items[i], slot))
			return false;
	}
	return gmt_import_stack(&writer->output, writer->frames.items, writer->frames.count,
			   ret_stack) &&
		gmt_map_put(&writer->stacks, (uint64_t)chain, *ret_stack);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Returns the name of a function without the version that CUDA adds: cudaMalloc_v3020. */
static size_t name_length(const struct gmt_nsight_text *name)
{
	const char *version = memrchr(name->text, '_', name->length);

	return version && name->length - (size_t)(version - name->text) > 2 && version[1] == 'v'
		? (size_t)(version - name->text)
		: name->length;
}

static bool set_call(struct gmt_nsight_writer *writer, const struct gmt_nsight_event *row,
	struct gmt_event *event)
{
	uint64_t index = 0;
	const struct gmt_nsight_call *call;
	struct gmt_nsight_text name;
	char text[64];

	if (row->has_correlation)
		gmt_map_find(&writer->rows.call_of, (uint64_t)row->correlation, &index);
	call = &writer->rows.calls.items[index];
	name =
		index ? gmt_nsight_rows_text(&writer->rows, call->name) : (struct gmt_nsight_text){ "", 0 };
	snprintf(text, sizeof(text), "%.*s",
		(int)(name_length(&name) < sizeof(text) ? name_length(&name) : sizeof(text) - 1),
		name.text);
	if (!*text)
		snprintf(text, sizeof(text), "%s", event->kind == GMT_KIND_ALLOC ? "alloc" : "free");
	/* The names come from the file. Usually they are few, but a hostile file may have many. */
	if (writer->output.apis.entries.count > INT16_MAX)
		snprintf(text, sizeof(text), "other");
	return gmt_nsight_thread(writer, index ? call->thread : writer->rows.process, &event->thread) &&
		find_stack(writer, index ? call->chain : 0, &event->frames) &&
		gmt_import_api(&writer->output, text, "cudart", &event->api);
}

static bool write_event(struct gmt_nsight_writer *writer, const struct gmt_nsight_event *row)
{
	bool is_free = row->operation == OPERATION_DEALLOCATION;
	uint8_t space = row->kind >= 0 && row->kind < (int64_t)sizeof(spaces) ? spaces[row->kind]
																		  : GMT_SPACE_DEVICE;
	bool is_host;
	struct gmt_event event = {
		.stamp = gmt_nsight_stamp(writer, row->start_ns),
		.kind = is_free ? GMT_KIND_FREE : GMT_KIND_ALLOC,
		.address = row->address,
		.size_bytes = is_free ? 0 : row->size_bytes,
		.stream = row->stream,
	};

	if (space == GMT_SPACE_DEVICE && row->pool) {
		space = GMT_SPACE_POOL;
		event.object = row->pool;
	}
	is_host = gmt_space_side(space) == GMT_SIDE_HOST;
	event.space = space;
	event.layer = (uint8_t)gmt_space_layer(space);
	event.device = is_host || row->device < 0 || row->device > INT16_MAX ? GMT_DEVICE_HOST
																		 : (int16_t)row->device;
	if (!is_host && !row->has_device)
		event.device = GMT_DEVICE_UNKNOWN;
	if (!set_call(writer, row, &event) || !gmt_import_event(&writer->output, &event))
		return false;
	writer->without_stack += !is_free && !event.frames;
	if (is_free)
		gmt_map_remove(&writer->live, row->address, NULL);
	return is_free || gmt_map_put(&writer->live, row->address, 0);
}

/*
 * Writes the events of one time. First frees the live addresses, because another block may have got
 * the same address at the same time. Then writes the allocations, then the other frees.
 */
static bool write_group(struct gmt_nsight_writer *writer, struct gmt_nsight_event *rows,
	size_t count)
{
	for (int pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < count; i++) {
			bool is_free = rows[i].operation == OPERATION_DEALLOCATION;
			uint64_t found;

			if (rows[i].operation != OPERATION_ALLOCATION && !is_free) {
				writer->unknown_operations += !pass;
				continue;
			}
			if (is_free == (pass == 1) ||
				(!pass && !gmt_map_find(&writer->live, rows[i].address, &found)))
				continue;
			if (!write_event(writer, &rows[i]))
				return false;
			rows[i].operation = INT64_MIN; /* skip the row in the next passes */
		}
	return true;
}

static bool write_events(struct gmt_nsight_writer *writer)
{
	struct gmt_nsight_event *rows = writer->rows.events.items;
	size_t count = writer->rows.events.count;

	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && rows[end].start_ns == rows[i].start_ns;)
			end++;
		if (!write_group(writer, rows + i, end - i))
			return false;
	}
	return true;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Writes notes about what the recording lacks. */
static void write_notes(struct gmt_nsight_writer *writer)
{
	struct gmt_import_writer *output = &writer->output;

	gmt_import_note(output,
		"imported from a report of Nsight Systems: it covers memory that CUDA handed out while "
		"Nsight Systems recorded");
	if (!writer->rows.events.count)
		gmt_import_note(output, "the report has no events of memory");
	if (writer->without_stack)
		gmt_import_note(output,
			"%s allocations have no stack: `nsys profile --cudabacktrace=all` records stacks",
			gmt_text_count(writer->without_stack).text);
	if (writer->unknown_operations)
		gmt_import_note(output, "%s events have operations that are not known",
			gmt_text_count(writer->unknown_operations).text);
}

/*
 * Finds the start of the recording. Times of a report are usually since Nsight Systems began to
 * record. If they are since 1970, the recording begins with the first event.
 */
static void find_start(struct gmt_nsight_writer *writer, struct gmt_import_options *options)
{
	const struct gmt_nsight_rows *rows = &writer->rows;
	int64_t first_ns = rows->events.count ? rows->events.items[0].start_ns : INT64_MAX;

	for (size_t i = 0; i < rows->ranges.count; i++)
		if (rows->ranges.items[i].start_ns < first_ns)
			first_ns = rows->ranges.items[i].start_ns;
	options->start_time_ns = rows->session_start_ns > 0 ? (uint64_t)rows->session_start_ns : 0;
	if (first_ns >= EPOCH_NS && first_ns != INT64_MAX) {
		writer->base_ns = first_ns;
		options->start_time_ns = (uint64_t)first_ns;
	}
}

static enum gmt_status write_all(struct gmt_nsight_writer *writer,
	const struct gmt_import_options *options, struct gmt_error *error)
{
	struct gmt_import_options own = *options;
	bool done;

	own.tool = "Nsight Systems report";
	own.pid = (uint32_t)((uint64_t)writer->rows.process >> GMT_NSIGHT_ID_BITS & GMT_NSIGHT_ID_MASK);
	find_start(writer, &own);
	writer->last_stamp = GMT_IMPORT_START_STAMP;
	done = gmt_import_begin(&writer->output, &own) && write_events(writer) &&
		gmt_nsight_write_phases(writer);
	if (done) {
		write_notes(writer);
		done = gmt_import_end(&writer->output, writer->last_stamp);
	}
	gmt_import_fini(&writer->output);
	gmt_map_fini(&writer->threads);
	gmt_map_fini(&writer->stacks);
	gmt_map_fini(&writer->live);
	gmt_vec_fini(&writer->frames);
	return done ? GMT_OK : gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

enum gmt_status gmt_nsight_import(const char *path, uint64_t pid,
	const struct gmt_import_options *options, struct gmt_error *error)
{
	struct gmt_nsight_writer writer = { 0 };
	struct gmt_nsight_database database = { 0 };
	enum gmt_status status = gmt_nsight_database_open(&database, path, error);

	if (!status)
		status = gmt_nsight_rows_read(&writer.rows, &database, pid, error);
	gmt_nsight_database_close(&database);
	if (!status)
		status = write_all(&writer, options, error);
	gmt_nsight_rows_fini(&writer.rows);
	return status;
}

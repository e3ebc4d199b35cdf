/* SPDX-License-Identifier: MIT */
/*
 * A file for heaptrack's viewers, in the text form of its version 3: a record on each line, numbers
 * in hexadecimal. The format has no devices, so a file is about one. Records refer to earlier ones
 * by their number:
 *
 *   s LENGTH TEXT                    a text; numbers begin at 1, as those of all but `a`
 *   i ADDRESS MODULE FUNCTION FILE LINE   a frame
 *   t FRAME PARENT                   a stack: a frame, and the stack of its caller (0: none)
 *   a SIZE STACK                     an allocation of this size by this stack; numbers begin at 0
 *   + ALLOCATION, - ALLOCATION       a block of it begins, or ends
 *   c MILLISECONDS                   the time of the records that follow
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/budget.h"
#include "containers/intern.h"
#include "reader/load/clock.h"
#include "render/export/export_replay.h"
#include "render/export/frames.h"

enum { HEAPTRACK_VERSION = 0x10400, FILE_VERSION = 3, PAGE_BYTES = 4096 };

/* A stack in the file: the key of its record. */
struct node {
	uint32_t frame, parent;
};

/* An allocation: the key of its record. */
struct allocation {
	uint64_t size_bytes;
	uint64_t stack;
};

struct writer {
	struct gmt_export *export;
	FILE *file;
	struct gmt_intern texts, nodes, allocations; /* an id is the number of the record, or less 1 */
	GMT_VEC(uint32_t) frames; /* by place: the number of its record; 0: not written */
	GMT_VEC(uint32_t) stacks; /* by stack: the number of its record; 0: not written */
	uint32_t frame_count;
	uint64_t time_ms;
};

/* Writes the record of a text (gmt_export_line). Returns its number; 0 for "". */
static bool write_text(struct writer *writer, const char *text, uint32_t *ret_number)
{
	size_t count = writer->texts.entries.count, length = 0;
	char *line = NULL;
	FILE *memory;
	bool done;

	*ret_number = 0;
	if (!*text)
		return true;
	memory = open_memstream(&line, &length);
	if (!memory)
		return false;
	gmt_export_line(memory, text, "");
	done = !fclose(memory) && gmt_intern_text(&writer->texts, line, ret_number);
	if (done && (*ret_number)++ == count)
		fprintf(writer->file, "s %zx %s\n", length, line);
	free(line);
	return done;
}

/*
 * Writes the name of a function. The viewers cut stacks above `main`, but that of Python is not the
 * beginning: it gets the name of its file, such as "train.main".
 */
static bool write_function(struct writer *writer, const struct gmt_place *place,
	uint32_t *ret_number)
{
	const struct gmt_traces *traces = writer->export->traces;
	struct gmt_export_name buffer, name;
	const char *function = gmt_export_function(traces, place, &buffer);

	if (place->kind == GMT_PLACE_PYTHON && strcmp(function, "main") == 0) {
		const char *file = gmt_text_base_name(gmt_traces_string(traces, place->file));

		snprintf(name.text, sizeof(name.text), "%.*s.main", (int)(strcspn(file, ".") % 80), file);
		function = name.text;
	}
	return write_text(writer, function, ret_number);
}

static bool write_frame(struct writer *writer, uint32_t id)
{
	const struct gmt_traces *traces = writer->export->traces;
	const struct gmt_place *place = gmt_traces_place(traces, id);
	uint32_t module, function, file;

	if (writer->frames.items[id])
		return true;
	if (!write_text(writer, gmt_traces_string(traces, place->module), &module) ||
		!write_function(writer, place, &function) ||
		!write_text(writer, gmt_traces_string(traces, place->file), &file))
		return false;
	fprintf(writer->file, "i %" PRIx32 " %" PRIx32 " %" PRIx32 " %" PRIx32 " %" PRIx32 "\n", id + 1,
		module, function, file, place->line);
	writer->frames.items[id] = ++writer->frame_count;
	return true;
}

/* Writes the stack of a caller and a frame. Returns its number. */
static bool write_node(struct writer *writer, struct node node, uint32_t *ret_number)
{
	size_t count = writer->nodes.entries.count;

	if (!gmt_intern(&writer->nodes, &node, sizeof(node), ret_number))
		return false;
	if ((*ret_number)++ == count)
		fprintf(writer->file, "t %" PRIx32 " %" PRIx32 "\n", node.frame, node.parent);
	return true;
}

/* Writes a frame for blocks whose stack was not recorded. */
static bool write_no_stack(struct writer *writer, uint32_t *ret_number)
{
	uint32_t text;

	if (!write_text(writer, GMT_EXPORT_NO_STACK, &text))
		return false;
	fprintf(writer->file, "i %zx 0 %" PRIx32 " 0 0\n",
		writer->export->traces->places.entries.count + 1, text);
	return write_node(writer, (struct node){ ++writer->frame_count, 0 }, ret_number);
}

static bool write_stack(struct writer *writer, uint32_t stack, uint32_t *ret_number)
{
	uint32_t count, number = 0;
	const uint32_t *places = gmt_traces_stack(writer->export->traces, stack, &count);

	if (!writer->stacks.items[stack]) {
		if (!count && !write_no_stack(writer, &number))
			return false;
		for (uint32_t i = count; i-- > 0;)
			if (!write_frame(writer, places[i]) ||
				!write_node(writer, (struct node){ writer->frames.items[places[i]], number },
					&number))
				return false;
		writer->stacks.items[stack] = number;
	}
	*ret_number = writer->stacks.items[stack];
	return true;
}

static void write_time(struct writer *writer, uint64_t stamp)
{
	uint64_t time_ms = gmt_clock_time_ns(writer->export->recording, stamp) / 1000000;

	if (time_ms > writer->time_ms)
		fprintf(writer->file, "c %" PRIx64 "\n", writer->time_ms = time_ms);
}

/* Writes that a block begins ('+') or ends ('-'). */
static bool write_change(struct writer *writer, char sign, uint64_t size_bytes, uint32_t stack,
	uint64_t stamp)
{
	enum { USUAL_BYTES = 8 };
	struct allocation allocation = { .size_bytes = size_bytes };
	size_t count = writer->allocations.entries.count;
	uint32_t number;

	if (!gmt_budget_spend_output(USUAL_BYTES))
		return true;
	if (!write_stack(writer, stack, &number))
		return false;
	allocation.stack = number;
	if (!gmt_intern(&writer->allocations, &allocation, sizeof(allocation), &number))
		return false;
	if (number == count)
		fprintf(writer->file, "a %" PRIx64 " %" PRIx64 "\n", size_bytes, allocation.stack);
	write_time(writer, stamp);
	fprintf(writer->file, "%c %" PRIx32 "\n", sign, number);
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct writer *writer = user;

	return !gmt_export_includes_site(writer->export, replay, site) ||
		write_change(writer, '+', event->size_bytes, replay->site_stacks.items[site], event->stamp);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct writer *writer = user;

	return !gmt_export_includes_site(writer->export, replay, block->site) ||
		write_change(writer, '-', block->size_bytes, replay->site_stacks.items[block->site],
			event->stamp);
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct writer *writer = user;
	uint64_t end_ms = replay->end_time_ns / 1000000;

	if (end_ms > writer->time_ms)
		fprintf(writer->file, "c %" PRIx64 "\n", end_ms);
	return true;
}

static bool write_head(struct writer *writer)
{
	const struct gmt_traces *traces = writer->export->traces;
	const struct gmt_recording *recording = writer->export->recording;

	fprintf(writer->file, "v %x %x\nX", HEAPTRACK_VERSION, FILE_VERSION);
	for (size_t i = 0; i < recording->command.count; i++) {
		fputc(' ', writer->file);
		gmt_export_line(writer->file, recording->command.items[i], "");
	}
	fprintf(writer->file, "\nI %x 0\n", PAGE_BYTES);
	/* The reserved memory is zeroed. */
	return gmt_vec_reserve(&writer->frames, traces->places.entries.count + 1) &&
		gmt_vec_reserve(&writer->stacks, traces->stacks.entries.count + 1);
}

enum gmt_status gmt_export_heaptrack(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	struct writer writer = { .export = export, .file = file };
	const struct gmt_replay_observer observer = {
		.began = on_began, .ended = on_ended, .finished = on_finished, .user = &writer
	};
	enum gmt_status status = write_head(&writer)
		? gmt_export_replay(export, &observer, error)
		: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	gmt_intern_fini(&writer.texts);
	gmt_intern_fini(&writer.nodes);
	gmt_intern_fini(&writer.allocations);
	gmt_vec_fini(&writer.frames);
	gmt_vec_fini(&writer.stacks);
	return status;
}

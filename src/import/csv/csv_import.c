/* SPDX-License-Identifier: MIT */
/*
 * The log is read twice. The first time checks all rows and finds the earliest time, so that a
 * wrong row leaves no half of a recording.
 */
#include "import/csv/csv_import.h"

#include <string.h>

#include "base/text.h"
#include "import/csv/csv_log.h"

/* Times from here on are those of the Unix epoch: since 1973. */
#define EPOCH_NS UINT64_C(100000000000000000)

enum { OUT_OF_MEMORY = 2, LINE_BYTES = 4096 };

struct import {
	const void *bytes;
	size_t length;
	struct gmt_csv_header header;
	struct gmt_import_writer writer;
	struct gmt_intern threads, stacks; /* texts; the id is the index in the next two */
	GMT_VEC(uint32_t) stack_ids;
	GMT_VEC(uint32_t) frames; /* of the stack that is being read */
	uint64_t first_ns, last_ns, rows;
	struct gmt_error *error;
};

bool gmt_csv_is_log(const void *bytes, size_t length)
{
	const char *at = bytes;
	bool has_comma = false;

	for (size_t i = 0; i < length && i < LINE_BYTES && at[i] != '\n' && at[i] != '\r'; i++) {
		if ((unsigned char)at[i] < ' ' && at[i] != '\t')
			return false;
		has_comma |= at[i] == ',';
	}
	return has_comma;
}

static enum gmt_status no_memory(const struct import *import)
{
	return gmt_error_set(import->error, GMT_NO_MEMORY, "out of memory");
}

/* --- stacks ----------------------------------------------------------------------------------- */

/*
 * Reads a frame: "function (file:line)", or only a function. Other texts are the name of the
 * function as a whole.
 */
static bool read_frame(struct import *import, const char *text, size_t length, uint32_t *ret_frame)
{
	struct gmt_import_frame_text frame = {
		.function = text, .function_length = length, .file = ""
	};
	const char *open = length && text[length - 1] == ')' ? memrchr(text, '(', length) : NULL;
	const char *colon = open ? memrchr(open, ':', (size_t)(text + length - open)) : NULL;
	bool has_line = colon && open > text && text + length - 1 > colon + 1;
	uint64_t line = 0;

	for (const char *at = has_line ? colon + 1 : NULL; has_line && at < text + length - 1; at++) {
		has_line = *at >= '0' && *at <= '9' && line < UINT32_MAX / 10;
		line = line * 10 + (uint64_t)(*at - '0');
	}
	if (has_line) {
		frame.file = open + 1;
		frame.file_length = (size_t)(colon - frame.file);
		frame.line = line;
		frame.function_length = (size_t)(open - text);
		while (frame.function_length && text[frame.function_length - 1] == ' ')
			frame.function_length--;
	}
	return gmt_import_frame_of_text(&import->writer, &frame, ret_frame);
}

/* Reads a stack: frames, root first, with semicolons between them. */
static bool read_stack(struct import *import, const struct gmt_csv_field *text, uint32_t *ret_stack)
{
	const char *end = text->text + text->length;

	import->frames.count = 0;
	while (end > text->text) {
		const char *semicolon = memrchr(text->text, ';', (size_t)(end - text->text));
		const char *first = semicolon ? semicolon + 1 : text->text, *last = end;
		uint32_t *slot;

		while (first < last && *first == ' ')
			first++;
		while (last > first && last[-1] == ' ')
			last--;
		if (first < last) {
			slot = gmt_vec_push(&import->frames);
			if (!slot || !read_frame(import, first, (size_t)(last - first), slot))
				return false;
		}
		end = semicolon ? semicolon : text->text;
	}
	return gmt_import_stack(&import->writer, import->frames.items, import->frames.count, ret_stack);
}

static bool find_stack(struct import *import, const struct gmt_csv_field *text, uint32_t *ret_stack)
{
	size_t known = import->stacks.entries.count;
	uint32_t id, *slot;

	*ret_stack = 0;
	if (!text->length)
		return true;
	if (!gmt_intern(&import->stacks, text->text, text->length, &id))
		return false;
	if (id == known) {
		slot = gmt_vec_push(&import->stack_ids);
		if (!slot || !read_stack(import, text, slot))
			return false;
	}
	*ret_stack = import->stack_ids.items[id];
	return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Gets the id of a thread by its text, which may be a number or a name. */
static bool find_thread(struct import *import, const struct gmt_csv_field *text, uint32_t *ret_id)
{
	size_t known = import->threads.entries.count;
	uint64_t number = 0;
	char digits[21];

	if (!gmt_intern(&import->threads, text->text, text->length, ret_id))
		return false;
	if (*ret_id == known) {
		size_t length = text->length < sizeof(digits) ? text->length : 0;

		memcpy(digits, text->text, length);
		digits[length] = 0;
		if (!gmt_text_parse_u64(digits, &number) || number > UINT32_MAX)
			number = 0;
		if (!gmt_import_thread(&import->writer, *ret_id + 1, (uint32_t)number,
				text->length ? text->text : "log", text->length ? text->length : strlen("log")))
			return false;
	}
	++*ret_id;
	return true;
}

static bool write_row(struct import *import, const struct gmt_csv_row *row)
{
	static const struct {
		uint8_t kind;
		const char *name;
	} operations[] = {
		[GMT_CSV_ALLOC] = { GMT_KIND_ALLOC, "alloc" },
		[GMT_CSV_FREE] = { GMT_KIND_FREE, "free" },
		[GMT_CSV_FAILED] = { GMT_KIND_ALLOC_FAILED, "alloc_failed" },
	};
	bool is_free = row->operation == GMT_CSV_FREE;
	struct gmt_event event = {
		.stamp = GMT_IMPORT_START_STAMP + (row->time_ns - import->first_ns),
		.kind = operations[row->operation].kind,
		.layer = GMT_LAYER_CUDA,
		.space = row->device == GMT_DEVICE_HOST ? GMT_SPACE_PINNED : GMT_SPACE_DEVICE,
		.device = row->device,
		.address = row->operation == GMT_CSV_FAILED ? 0 : row->pointer,
		.size_bytes = is_free ? 0 : row->size_bytes,
		.result = row->operation == GMT_CSV_FAILED ? OUT_OF_MEMORY : 0,
		.stream = row->stream,
	};

	return find_thread(import, &row->thread, &event.thread) &&
		find_stack(import, &row->stack, &event.frames) &&
		gmt_import_api(&import->writer, operations[row->operation].name, "cuda", &event.api) &&
		gmt_import_event(&import->writer, &event);
}

/* Reads all rows, and writes them with `writes`. Otherwise finds the first and last time. */
static enum gmt_status read_rows(struct import *import, bool writes)
{
	struct gmt_csv csv = { 0 };
	struct gmt_csv_row row;
	enum gmt_status status;

	gmt_csv_begin(&csv, import->bytes, import->length);
	status = gmt_csv_next(&csv, import->error);
	if (status == GMT_END)
		status = gmt_error_set(import->error, GMT_FORMAT, "line 1: the header is missing");
	if (!status)
		status = gmt_csv_read_header(&csv, &import->header, import->error);
	while (!status && !(status = gmt_csv_next(&csv, import->error))) {
		status = gmt_csv_read_row(&csv, &import->header, &row, import->error);
		if (status)
			break;
		if (writes) {
			status = write_row(import, &row) ? GMT_OK : no_memory(import);
			continue;
		}
		if (!import->rows || row.time_ns < import->first_ns)
			import->first_ns = row.time_ns;
		if (row.time_ns > import->last_ns)
			import->last_ns = row.time_ns;
		import->rows++;
	}
	gmt_csv_fini(&csv);
	return status == GMT_END ? GMT_OK : status;
}

static void note(struct import *import)
{
	gmt_import_note(&import->writer,
		"imported from a log: it covers what was logged, and memory that was allocated before the "
		"log began is missing");
	if (!import->header.field_plus_1[GMT_CSV_STACK])
		gmt_import_note(&import->writer, "the log has no stacks: it has no column `stack`");
	if (!import->header.field_plus_1[GMT_CSV_DEVICE])
		gmt_import_note(&import->writer,
			"the log has no column `device`: all memory counts as memory of GPU 0");
}

enum gmt_status gmt_csv_import(const void *bytes, size_t length,
	const struct gmt_import_options *options, struct gmt_error *error)
{
	struct import import = { .bytes = bytes, .length = length, .error = error };
	struct gmt_import_options own = *options;
	enum gmt_status status = read_rows(&import, false);

	if (!status) {
		own.tool = "CSV log";
		own.start_time_ns = import.first_ns >= EPOCH_NS ? import.first_ns : 0;
		if (!gmt_import_begin(&import.writer, &own))
			status = no_memory(&import);
	}
	if (!status)
		status = read_rows(&import, true);
	if (!status) {
		note(&import);
		gmt_import_end(&import.writer, GMT_IMPORT_START_STAMP + (import.last_ns - import.first_ns));
		if (import.writer.failed)
			status = no_memory(&import);
	}
	gmt_import_fini(&import.writer);
	gmt_intern_fini(&import.threads);
	gmt_intern_fini(&import.stacks);
	gmt_vec_fini(&import.stack_ids);
	gmt_vec_fini(&import.frames);
	return status;
}

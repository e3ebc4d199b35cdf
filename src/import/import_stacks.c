/* SPDX-License-Identifier: MIT */
/* Texts, functions, frames and stacks: each is written once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "import/import_flush.h"

/* Longer texts are cut. A block holds 64 MiB, so the rows that wait must stay below that. */
enum { TEXT_BYTES = 4096, WAITING_CODES = 4096, WAITING_ITEMS = 1 << 20 };

bool gmt_import_text(struct gmt_import_writer *writer, const char *text, size_t length,
	uint32_t *ret_id)
{
	if (!gmt_intern(&writer->texts, text, gmt_text_cut_length(text, length, TEXT_BYTES), ret_id))
		writer->failed = true;
	return !writer->failed;
}

static struct gmt_slice text_of(const struct gmt_import_writer *writer, uint32_t id)
{
	const struct gmt_interned *entry = gmt_intern_get(&writer->texts, id);

	return (struct gmt_slice){ entry->bytes, entry->length };
}

static bool intern_code(struct gmt_import_writer *writer, const struct gmt_import_frame *frame,
	uint32_t *ret_id)
{
	uint32_t key[] = { frame->function, frame->file, frame->is_native };
	size_t known = writer->codes.entries.count;
	struct gmt_code *row;

	if (!gmt_intern(&writer->codes, key, sizeof(key), ret_id))
		return false;
	if (*ret_id < known)
		return true;
	if ((writer->code_rows.count >= WAITING_CODES && !gmt_import_flush(writer)) ||
		!(row = gmt_vec_push(&writer->code_rows)))
		return false;
	*row = (struct gmt_code){
		.id = *ret_id,
		.function = text_of(writer, frame->function),
		.file = text_of(writer, frame->file),
		.is_native = frame->is_native,
	};
	return true;
}

bool gmt_import_frame(struct gmt_import_writer *writer, const struct gmt_import_frame *frame,
	uint32_t *ret_id)
{
	uint32_t key[2] = { 0, frame->line };
	size_t known = writer->frames.entries.count;
	struct gmt_frame *row;

	*ret_id = 0;
	if (!intern_code(writer, frame, &key[0]) ||
		!gmt_intern(&writer->frames, key, sizeof(key), ret_id))
		return !(writer->failed = true);
	if (*ret_id < known)
		return !writer->failed;
	if (!gmt_import_make_room(writer, writer->frame_rows.count) ||
		!(row = gmt_vec_push(&writer->frame_rows)))
		return !(writer->failed = true);
	*row = (struct gmt_frame){ .id = *ret_id, .code = key[0], .line = key[1] };
	return true;
}

static bool ends_with(const char *text, size_t length, const char *const *endings)
{
	for (; *endings; endings++) {
		size_t ending = strlen(*endings);

		if (length >= ending && memcmp(text + length - ending, *endings, ending) == 0)
			return true;
	}
	return false;
}

static bool begins_with(const char *text, size_t length, const char *start)
{
	return length >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

static bool has(const char *text, size_t length, const char *part)
{
	return memmem(text, length, part, strlen(part));
}

/* What the file of a frame is. */
enum origin { PYTHON, SOURCE, LIBRARY };

static enum origin origin_of(const struct gmt_import_frame_text *text)
{
	static const char *const of_python[] = { ".py", ".pyw", ".pyx", NULL };
	static const char *const of_others[] = { ".c", ".cc", ".cpp", ".cxx", ".C", ".cu", ".cuh", ".h",
		".hh", ".hpp", ".inc", ".inl", ".S", ".s", ".rs", NULL };
	/* A line of so many digits is an offset in a program. */
	enum { MOST_LINES = 65536 };

	if (!text->file_length)
		return SOURCE;
	if (*text->file == '<' || ends_with(text->file, text->file_length, of_python))
		return PYTHON;
	if (ends_with(text->file, text->file_length, of_others) ||
		has(text->file, text->file_length, "/include/c++/"))
		return SOURCE;
	/* Programs in Python need no ending: /usr/bin/torchrun. */
	return has(text->file, text->file_length, ".so") || text->line >= MOST_LINES ||
			begins_with(text->function, text->function_length, "??")
		? LIBRARY
		: PYTHON;
}

/* Gets the id of the name of an unnamed function, as the reader makes it: library+0xOFFSET. */
static bool intern_offset_name(struct gmt_import_writer *writer,
	const struct gmt_import_frame_text *text, uint32_t *ret_id)
{
	const char *slash = memrchr(text->file, '/', text->file_length);
	const char *name = slash ? slash + 1 : text->file;
	size_t length = text->file_length - (size_t)(name - text->file);
	char buffer[512];
	int made = snprintf(buffer, sizeof(buffer), "%.*s+0x%" PRIx64,
		(int)(length < 400 ? length : 400), name, text->line);

	return gmt_import_text(writer, buffer, (size_t)made, ret_id);
}

bool gmt_import_frame_of_text(struct gmt_import_writer *writer,
	const struct gmt_import_frame_text *given, uint32_t *ret_id)
{
	struct gmt_import_frame_text text = *given;
	struct gmt_import_frame frame = { 0 };
	enum origin origin;
	bool is_named;

	text.file_length = gmt_text_cut_length(text.file, text.file_length, TEXT_BYTES);
	if (begins_with(text.file, text.file_length, "??"))
		text.file_length = 0;
	origin = origin_of(&text);
	is_named = text.function_length && !begins_with(text.function, text.function_length, "??");
	frame.is_native = origin != PYTHON;
	if (origin != LIBRARY)
		frame.line = text.line <= INT32_MAX ? (uint32_t)text.line : 0;
	if (origin == LIBRARY && !is_named ? !intern_offset_name(writer, &text, &frame.function)
									   : !gmt_import_text(writer, text.function,
											 is_named ? text.function_length : 0, &frame.function))
		return false;
	return gmt_import_text(writer, text.file, text.file_length, &frame.file) &&
		gmt_import_frame(writer, &frame, ret_id);
}

bool gmt_import_stack(struct gmt_import_writer *writer, const uint32_t *frames, size_t count,
	uint32_t *ret_id)
{
	size_t known = writer->stacks.entries.count;
	struct gmt_frames *row;
	const struct gmt_interned *entry;

	*ret_id = 0;
	if (!count)
		return !writer->failed;
	writer->items.count = 0;
	if (!gmt_vec_reserve(&writer->items, count))
		return !(writer->failed = true);
	/* Without native stacks, entry bits of frames have no meaning. */
	for (size_t i = 0; i < count; i++)
		writer->items.items[i] = (uint64_t)frames[i] << 1;
	if (!gmt_intern(&writer->stacks, writer->items.items, count * sizeof(uint64_t), ret_id))
		return !(writer->failed = true);
	if (*ret_id < known)
		return !writer->failed;
	if ((writer->waiting_items + count > WAITING_ITEMS && !gmt_import_flush(writer)) ||
		!gmt_import_make_room(writer, writer->stack_rows.count) ||
		!(row = gmt_vec_push(&writer->stack_rows)))
		return !(writer->failed = true);
	entry = gmt_intern_get(&writer->stacks, *ret_id);
	*row = (struct gmt_frames){
		.id = *ret_id,
		.items = { entry->bytes, (uint32_t)count },
	};
	writer->waiting_items += count;
	return true;
}

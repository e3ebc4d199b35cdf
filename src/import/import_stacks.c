/* SPDX-License-Identifier: MIT */
/* Texts, functions, frames and stacks: each is written once. */
#include <string.h>

#include "base/text.h"
#include "import/import_rows.h"

/* Longer texts are cut. A block holds 64 MiB, so the rows that wait must stay below that. */
enum { TEXT_BYTES = 4096, WAITING_CODES = 4096, WAITING_ITEMS = 1 << 20 };

bool gmt_import_text(struct gmt_import_writer *writer, const char *text, size_t length,
	uint32_t *ret_id)
{
	if (!gmt_intern(&writer->texts, text, gmt_text_cut_length(text, length, TEXT_BYTES), ret_id))
		writer->failed = true;
	return !writer->failed;
}

bool gmt_import_is_native_file(const char *file, size_t length)
{
	static const char *const endings[] = { ".c", ".cc", ".cpp", ".cxx", ".C", ".cu", ".cuh", ".h",
		".hh", ".hpp", ".inc", ".inl", ".S", ".s", ".rs", ".so", "??" };
	static const char cpp_library[] = "/include/c++/"; /* its headers have no ending */

	if (!length)
		return true;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t ending = strlen(endings[i]);

		if (length >= ending && memcmp(file + length - ending, endings[i], ending) == 0)
			return true;
	}
	return memmem(file, length, cpp_library, strlen(cpp_library));
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

/* SPDX-License-Identifier: MIT */
#include "import/torch/torch_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/torch/torch_snapshot.h"

/* The recorder's deepest stacks are shorter. */
enum { MAX_FRAMES = 65536, MAX_KEYS = 64, NAME_BYTES = 256, NAME_SEARCHED = 4096 };

/* Returns the key of a value that has bytes or items in memory. */
static uint64_t identity_of(const struct gmt_unpickled *value)
{
	return value->kind == GMT_UNPICKLED_TEXT ? (uintptr_t)value->text : (uintptr_t)value->items;
}

static void set_text(const struct gmt_unpickled *value, const char **ret_text, size_t *ret_length)
{
	bool is_text = value && value->kind == GMT_UNPICKLED_TEXT;

	*ret_text = is_text ? value->text : "";
	*ret_length = is_text ? value->length : 0;
}

/* Returns whether a function only took the stack for PyTorch. */
static bool takes_stack(const struct gmt_import_frame_text *text)
{
	static const char *const names[] = { "unwind::unwind", "CapturedTraceback::gather",
		"gather_with_cpp" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (memmem(text->function, text->function_length, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Gets the id of a frame; 0: a frame that only took the stack. */
static bool intern_frame(struct gmt_torch_import_stacks *stacks, const struct gmt_unpickled *value,
	uint32_t *ret_id)
{
	struct gmt_import_frame_text text = { 0 };
	const struct gmt_unpickled *line;
	uint64_t known;

	if (gmt_map_find(&stacks->frames, identity_of(value), &known)) {
		*ret_id = (uint32_t)known;
		return true;
	}
	set_text(gmt_unpickled_find(value, "name"), &text.function, &text.function_length);
	set_text(gmt_unpickled_find(value, "filename"), &text.file, &text.file_length);
	if (text.function_length > NAME_SEARCHED)
		text.function_length = NAME_SEARCHED;
	line = gmt_unpickled_find(value, "line");
	if (line && line->kind == GMT_UNPICKLED_NUMBER && line->number > 0)
		text.line = (uint64_t)line->number;
	*ret_id = 0;
	return (takes_stack(&text) || gmt_import_frame_of_text(stacks->writer, &text, ret_id)) &&
		gmt_map_put(&stacks->frames, identity_of(value), *ret_id);
}

bool gmt_torch_import_stack(struct gmt_torch_import_stacks *stacks,
	const struct gmt_unpickled *frames, uint32_t *ret_stack)
{
	const struct gmt_unpickled_items *items = gmt_torch_import_items(frames);
	uint64_t known;
	uint32_t *slot;

	*ret_stack = 0;
	if (!items->count)
		return true;
	if (gmt_map_find(&stacks->stacks, (uintptr_t)items, &known)) {
		*ret_stack = (uint32_t)known;
		return true;
	}
	stacks->ids.count = 0;
	for (uint32_t i = 0; i < items->count && stacks->ids.count < MAX_FRAMES; i++) {
		if (items->values[i].kind != GMT_UNPICKLED_DICT ||
			items->values[i].items->count / 2 > MAX_KEYS)
			continue;
		slot = gmt_vec_push(&stacks->ids);
		if (!slot || !intern_frame(stacks, &items->values[i], slot))
			return false;
		stacks->ids.count -= !*slot;
	}
	return gmt_import_stack(stacks->writer, stacks->ids.items, stacks->ids.count, ret_stack) &&
		gmt_map_put(&stacks->stacks, (uintptr_t)items, *ret_stack);
}

/* Appends a value to a name of at most NAME_BYTES. Returns its new length. */
static size_t append_value(char *name, size_t length, const struct gmt_unpickled *value)
{
	size_t room = NAME_BYTES - length;
	int added = 0;

	if (value->kind == GMT_UNPICKLED_TEXT) {
		size_t taken = value->length < room ? value->length : room;

		memcpy(name + length, value->text, taken);
		return length + taken;
	}
	if (value->kind == GMT_UNPICKLED_NONE)
		added = snprintf(name + length, room, "None");
	else if (value->kind == GMT_UNPICKLED_BOOL)
		added = snprintf(name + length, room, value->number ? "True" : "False");
	else if (value->kind == GMT_UNPICKLED_NUMBER)
		added = snprintf(name + length, room, "%" PRId64, value->number);
	else if (value->kind == GMT_UNPICKLED_REAL)
		added = snprintf(name + length, room, "%g", value->real);
	else
		added = snprintf(name + length, room, "...");
	return length + ((size_t)added < room ? (size_t)added : room);
}

static size_t append_text(char *name, size_t length, const char *text)
{
	struct gmt_unpickled value = { .kind = GMT_UNPICKLED_TEXT, .length = (uint32_t)strlen(text) };

	value.text = text;
	return append_value(name, length, &value);
}

/* Reads a dictionary: its step, and the text of the rest. Returns the length of the text. */
static size_t read_dictionary(const struct gmt_unpickled_items *items, char *name,
	struct gmt_torch_import_metadata *ret_metadata)
{
	size_t length = 0;

	for (uint32_t i = 0; i < items->count && i < 2 * MAX_KEYS && length < NAME_BYTES; i += 2) {
		const struct gmt_unpickled *key = &items->values[i], *value = key + 1;

		if (gmt_unpickled_is(key, "step") && value->kind == GMT_UNPICKLED_NUMBER) {
			ret_metadata->has_step = true;
			ret_metadata->step = value->number;
			continue;
		}
		length = append_text(name, length, length ? ", " : "");
		if (!gmt_unpickled_is(key, "phase")) {
			length = append_value(name, length, key);
			length = append_text(name, length, "=");
		}
		length = append_value(name, length, value);
	}
	return length;
}

bool gmt_torch_import_metadata(struct gmt_torch_import_stacks *stacks,
	const struct gmt_unpickled *value, struct gmt_torch_import_metadata *ret_metadata)
{
	char name[NAME_BYTES];
	size_t length = 0;
	uint64_t known;
	struct gmt_torch_import_metadata *slot;

	*ret_metadata = (struct gmt_torch_import_metadata){ 0 };
	if (!value ||
		(value->kind == GMT_UNPICKLED_TEXT ? !value->length : value->kind != GMT_UNPICKLED_DICT))
		return true;
	if (gmt_map_find(&stacks->names, identity_of(value), &known)) {
		*ret_metadata = stacks->metadata.items[known];
		return true;
	}
	length = value->kind == GMT_UNPICKLED_TEXT ? append_value(name, 0, value)
											   : read_dictionary(value->items, name, ret_metadata);
	if (length && !gmt_import_name(stacks->writer, name, length, &ret_metadata->name))
		return false;
	slot = gmt_vec_push(&stacks->metadata);
	if (!slot || !gmt_map_put(&stacks->names, identity_of(value), stacks->metadata.count - 1))
		return false;
	*slot = *ret_metadata;
	return true;
}

void gmt_torch_import_stacks_fini(struct gmt_torch_import_stacks *stacks)
{
	gmt_map_fini(&stacks->frames);
	gmt_map_fini(&stacks->stacks);
	gmt_map_fini(&stacks->names);
	gmt_vec_fini(&stacks->metadata);
	gmt_vec_fini(&stacks->ids);
}

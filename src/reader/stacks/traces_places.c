/* SPDX-License-Identifier: MIT */
#include "reader/stacks/traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "reader/symbols/demangle.h"
#include "reader/symbols/symbols_interpreter_loop.h"
#include "reader/symbols/symbols_elf.h"
#include "reader/stacks/traces_merger.h"

static bool intern_place(struct gmt_traces_merger *merger, const struct gmt_place *place,
	uint32_t *ret_place)
{
	struct gmt_traces *traces = merger->traces;
	bool is_python = place->kind == GMT_PLACE_PYTHON;
	struct gmt_owner_frame frame = {
		.is_python = is_python,
		.function = gmt_traces_string(traces, place->function),
		.file = gmt_traces_string(traces, place->file),
		.module = gmt_traces_string(traces, place->module),
	};
	uint32_t *frame_kinds;
	uint8_t *ownership;

	if (!gmt_intern(&traces->places, place, sizeof(*place), ret_place))
		return false;
	if (*ret_place < traces->place_frame_kinds.count)
		return true;
	frame_kinds = gmt_vec_push(&traces->place_frame_kinds);
	ownership = gmt_vec_push(&traces->place_ownership);
	if (!frame_kinds || !ownership)
		return false;
	*frame_kinds =
		gmt_frame_kinds(is_python, is_python ? frame.file : frame.module, frame.function);
	*ownership = gmt_traces_ownership(traces, place);
	return gmt_owners_add_place(&traces->owners, &frame);
}

bool gmt_traces_mark_place(struct gmt_traces_merger *merger, const char *text, uint32_t *ret_place)
{
	struct gmt_place place = { .kind = GMT_PLACE_NATIVE };

	return gmt_intern_text(&merger->traces->strings, text, &place.function) &&
		intern_place(merger, &place, ret_place);
}

/* Makes a name for an address without one: module+0xADDRESS, which addr2line understands. */
static bool intern_offset_name(struct gmt_traces_merger *merger,
	const struct gmt_symbols_result *result, uint32_t *ret_string)
{
	char text[512];

	snprintf(text, sizeof(text), "%.400s%s0x%" PRIx64,
		result->module ? gmt_text_base_name(result->module->path.text) : "",
		result->module ? "+" : "", result->file_address);
	return gmt_intern_text(&merger->traces->strings, text, ret_string);
}

static bool add_native_place(struct gmt_traces_merger *merger,
	const struct gmt_symbols_result *result, const struct gmt_symbols_frame *frame)
{
	struct gmt_intern *strings = &merger->traces->strings;
	struct gmt_place place = { .kind = GMT_PLACE_NATIVE, .line = frame->line };
	uint32_t id, *slot;

	if (frame->function ? !gmt_demangle(strings, frame->function, &place.function)
						: !intern_offset_name(merger, result, &place.function))
		return false;
	if (frame->file && !gmt_intern_text(strings, frame->file, &place.file))
		return false;
	if (result->module && !gmt_intern_text(strings, result->module->path.text, &place.module))
		return false;
	if (!intern_place(merger, &place, &id) || !(slot = gmt_vec_push(&merger->resolved_places)))
		return false;
	*slot = id;
	return true;
}

/*
 * Returns whether a function is the interpreter's loop, under the names that compilers give to its
 * parts. `_PyEval_EvalFrame`, without "Default", only calls the loop. Counting it too would count
 * one run of Python frames twice.
 */
static bool is_eval(const char *function)
{
	static const char name[] = GMT_INTERPRETER_LOOP;

	return function && strncmp(function, name, sizeof(name) - 1) == 0 &&
		(!function[sizeof(name) - 1] || function[sizeof(name) - 1] == '.');
}

static bool resolve_new(struct gmt_traces_merger *merger, uint32_t generation, uint64_t address)
{
	struct gmt_symbols_result result;
	struct gmt_traces_resolved *resolved = gmt_vec_push(&merger->resolved);

	if (!resolved)
		return false;
	gmt_symbols_find(merger->symbols, generation, address, &result);

	const struct gmt_symbols_frame *outer = &result.frames[result.count - 1];
	*resolved = (struct gmt_traces_resolved){
		.first = (uint32_t)merger->resolved_places.count,
		.count = (uint16_t)result.count,
		.is_eval = is_eval(outer->function),
		.is_python = result.module && gmt_symbols_elf_is_python(result.module->path.text),
	};
	if (result.module) {
		size_t index = (size_t)(result.module - merger->recording->modules.items);

		resolved->module_plus_1 = (uint32_t)index + 1;
		merger->module_has_eval.items[index] |= resolved->is_eval;
	}
	merger->traces->addresses++;
	merger->traces->named += outer->function != NULL;
	merger->traces->with_line += outer->line != 0;
	for (size_t i = 0; i < result.count; i++)
		if (!add_native_place(merger, &result, &result.frames[i]))
			return false;
	return true;
}

static bool find_id(struct gmt_traces_merger *merger, uint32_t generation, uint64_t address,
	uint32_t *ret_id)
{
	/* As words, so that the key has no padding. */
	uint64_t key[2] = { generation, address };

	return gmt_intern(&merger->addresses, key, sizeof(key), ret_id);
}

bool gmt_traces_resolve(struct gmt_traces_merger *merger, uint32_t generation, uint64_t address,
	uint32_t *ret_id)
{
	if (!find_id(merger, generation, address, ret_id))
		return false;
	return *ret_id < merger->resolved.count || resolve_new(merger, generation, address);
}

/* Announces all addresses to the symbols reader before the first lookup. */
static bool list_addresses(struct gmt_traces_merger *merger)
{
	const struct gmt_recording *recording = merger->recording;
	uint32_t known = 0, id;

	for (size_t t = 0; t < recording->traces.count; t++) {
		const struct gmt_stack *stack =
			gmt_recording_stack(recording, recording->traces.items[t].stack);

		for (uint32_t i = 0; stack && i < gmt_traces_depth(&stack->items); i++) {
			uint64_t address = stack->items.items[i];

			if (address && !find_id(merger, stack->generation, address, &id))
				return false;
			if (address && id == known) {
				gmt_symbols_expect(merger->symbols, stack->generation, address);
				known++;
			}
		}
	}
	return true;
}

bool gmt_traces_resolve_all(struct gmt_traces_merger *merger)
{
	/* The vector is all zeros, indexed by module. Nothing is pushed to it. */
	if (!gmt_vec_reserve(&merger->module_has_eval, merger->recording->modules.count + 1) ||
		!list_addresses(merger))
		return false;
	for (uint32_t id = 0; id < merger->addresses.entries.count; id++) {
		const uint64_t *key = gmt_intern_get(&merger->addresses, id)->bytes;

		if (!resolve_new(merger, (uint32_t)key[0], key[1]))
			return false;
	}
	return true;
}

bool gmt_traces_python_place(struct gmt_traces_merger *merger, uint32_t frame_id,
	uint32_t *ret_place)
{
	uint64_t known;

	/* A stack has many frames of other stacks, so nearly all frames are known. */
	if (gmt_map_find(&merger->python_places, frame_id, &known)) {
		*ret_place = (uint32_t)known;
		return true;
	}

	const struct gmt_frame *frame = gmt_recording_frame(merger->recording, frame_id);
	const struct gmt_code *code = frame ? gmt_recording_code(merger->recording, frame->code) : NULL;
	struct gmt_intern *strings = &merger->traces->strings;
	struct gmt_place place = {
		.kind = code && code->is_native ? GMT_PLACE_NATIVE : GMT_PLACE_PYTHON,
		.line = frame ? frame->line : 0,
	};

	/* A native frame without a line has a library in place of a file. */
	uint32_t *file = place.kind == GMT_PLACE_NATIVE && !place.line ? &place.module : &place.file;

	merger->traces->missing += !code;
	return gmt_intern_text(strings, code ? code->function.text : "<unknown>", &place.function) &&
		gmt_intern_text(strings, code ? code->file.text : "", file) &&
		intern_place(merger, &place, ret_place) &&
		gmt_map_put(&merger->python_places, frame_id, *ret_place);
}

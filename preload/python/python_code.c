/* SPDX-License-Identifier: MIT */
#include "python/python_code.h"

#include <stddef.h>

#include "depot/hash.h"
#include "python/python_text.h"
#include "runtime/recorder_stack.h"

const char *gmt_python_code_name(const struct gmt_python_layout *layout, const char *code)
{
	uint16_t offset = layout->code.qualified;

	return gmt_python_load(code, offset == GMT_PYTHON_NONE ? layout->code.name : offset);
}

/*
 * Returns the hash of a bytes object's content. It covers the whole table: two tables that differ
 * only in the middle give an instruction different lines (tests/preload/python/test_churn.py).
 */
static uint64_t hash_table(uint64_t seed, const char *bytes)
{
	return bytes ? gmt_depot_hash_bytes(seed, bytes + GMT_PYTHON_BYTES,
					   (uint64_t)gmt_python_load_long(bytes, GMT_PYTHON_SIZE))
				 : seed;
}

/*
 * Pointers are not enough. A function that is made, used and dropped in a loop gets the same
 * addresses each time, and so do its strings (tests/preload/python, "churn"). So the hash includes
 * the text.
 */
uint64_t gmt_python_code_hash(const struct gmt_python_layout *layout, const char *code)
{
	const char *lines = gmt_python_load(code, layout->code.lines);
	uint64_t hash = gmt_python_text_hash(layout, gmt_python_load(code, layout->code.name));

	if (layout->code.qualified != GMT_PYTHON_NONE)
		hash = gmt_hash_mix(hash ^ 0xa0761d6478bd642f,
			gmt_python_text_hash(layout, gmt_python_code_name(layout, code)) ^ 0x8ebc6af09c88c6e3);
	hash = gmt_hash_mix(hash ^ (uint32_t)gmt_python_load_int(code, layout->code.first_line),
		gmt_python_text_hash(layout, gmt_python_load(code, layout->code.file)) ^
			0xe7037ed1a0b428db);
	return hash_table(hash ^ (uintptr_t)lines, lines);
}

/* Arguments and result of intern_work. */
struct code_call {
	const struct gmt_python_layout *layout;
	struct gmt_depot *depot;
	const struct gmt_python_walked_frame *walked;
	uint32_t id;
};

/* Runs on a recorder stack, because the texts are long. */
static void intern_work(void *argument)
{
	struct code_call *call = argument;
	const struct gmt_python_layout *layout = call->layout;
	const struct gmt_python_walked_frame *walked = call->walked;
	union {
		struct gmt_depot_code code;
		char bytes[sizeof(struct gmt_depot_code) + 2 * GMT_PYTHON_TEXT_BYTES];
	} entry;
	struct gmt_depot_code *code = &entry.code;
	struct gmt_depot_frame frame;

	code->first_line = (uint32_t)gmt_python_load_int(walked->code, layout->code.first_line);
	code->function_length =
		gmt_python_text(layout, gmt_python_code_name(layout, walked->code), code->text);
	code->file_length = gmt_python_text(layout, gmt_python_load(walked->code, layout->code.file),
		code->text + code->function_length);
	frame.line = gmt_python_line(layout, walked->code, walked->instr);
	frame.code = gmt_depot_intern(call->depot, GMT_DEPOT_CODE, code,
		(uint32_t)offsetof(struct gmt_depot_code, text) + code->function_length +
			code->file_length);
	call->id =
		frame.code ? gmt_depot_intern(call->depot, GMT_DEPOT_FRAME, &frame, sizeof(frame)) : 0;
}

uint32_t gmt_python_code_intern(const struct gmt_python_layout *layout, struct gmt_depot *depot,
	const struct gmt_python_walked_frame *walked)
{
	struct code_call call = { layout, depot, walked, 0 };

	gmt_recorder_stack_run(intern_work, &call);
	return call.id;
}

uint32_t gmt_python_code_id(const struct gmt_python_layout *layout, struct gmt_python_cache *cache,
	struct gmt_depot *depot, const struct gmt_python_walked_frame *walked, uint64_t fingerprint,
	uint64_t code_frees)
{
	struct gmt_python_key key = {
		.code = (uintptr_t)walked->code,
		.instr = (uint64_t)walked->instr,
		.fingerprint = fingerprint,
	};
	struct gmt_python_key key_by_fingerprint = key;
	uint32_t id = gmt_python_cache_find(cache, &key);

	if (id)
		return id;
	if (code_frees) {
		key_by_fingerprint.fingerprint = gmt_python_code_fingerprint(layout, walked->code);
		id = gmt_python_cache_find(cache, &key_by_fingerprint);
	}
	if (!id) {
		id = gmt_python_code_intern(layout, depot, walked);
		if (id)
			gmt_python_cache_add(cache, &key_by_fingerprint, id);
	}
	if (id && code_frees)
		gmt_python_cache_add(cache, &key, id);
	return id;
}

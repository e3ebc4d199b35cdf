/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_LEAKING_PROGRAM_H
#define GMT_TESTS_LEAKING_PROGRAM_H

/*
 * The recording of a program of three lines, which a test lets leak. Each test program includes
 * this file after cmocka.h.
 */

#include "synthetic_recording.h"
#include "temporary_file.h"

#define DEFINITION(NAME) (UINT32_C(1) << GMT_LEAK_##NAME)

static struct recording recording;
/* Stacks. `same_line` is another stack of the line of `line`. */
static uint32_t line, second_line, same_line;

static inline struct gmt_leaks_options options_for(uint32_t definitions)
{
	return (struct gmt_leaks_options){
		.definitions = definitions,
		.warmup_steps = UINT32_MAX,
		.age_steps = UINT32_MAX,
		.age_ns = UINT64_MAX,
	};
}

static inline void begin(void)
{
	recording_begin(&recording, path);
	line = recording_stack(&recording, TORCH_FOLDER "/functional.py:1 relu\n/me/train.py:10 train");
	second_line = recording_stack(&recording, "/me/train.py:20 train");
	same_line =
		recording_stack(&recording, TORCH_FOLDER "/functional.py:2 tanh\n/me/train.py:10 train");
}

static inline void judge(void)
{
	recording_judge(&recording, GMT_REPLAY_TO_END, NULL);
}

static inline void judge_by(uint32_t definitions)
{
	struct gmt_leaks_options options = options_for(definitions);

	recording_judge(&recording, GMT_REPLAY_TO_END, &options);
}

static inline void step(void)
{
	MARK(&recording, STEP, PROGRAM, "");
}

static inline size_t leak_count(void)
{
	return recording.leaks.rows.count;
}

static inline const struct gmt_leak *leak(size_t index)
{
	assert_true(index < leak_count());
	return &recording.leaks.rows.items[index];
}

/* Allocates a block and returns its address. */
static inline uint64_t keep(uint32_t stack, uint64_t size_bytes)
{
	return ALLOC(&recording, .size_bytes = size_bytes, .stack = stack);
}

static inline void release(uint64_t address, uint64_t size_bytes)
{
	recording_free(&recording, GMT_LAYER_TORCH, address, size_bytes);
}

#endif

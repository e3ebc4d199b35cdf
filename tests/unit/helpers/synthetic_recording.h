/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_SYNTHETIC_RECORDING_H
#define GMT_TESTS_SYNTHETIC_RECORDING_H

/*
 * A recording that a test makes event by event, and what the reader and the analyses make of it.
 * A tick is a nanosecond, and an event comes 10 ticks after the one before. A failure ends the
 * program.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/history/history.h"
#include "analysis/leaks/leaks.h"
#include "containers/map.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "reader/steps/timeline.h"
#include "reader/stacks/traces.h"
#include "recording_file.h"

#define TORCH_FOLDER "/env/site-packages/torch"
#define MODULE_FRAME TORCH_FOLDER "/nn/modules/module.py:1 Module._call_impl"

/* Numbers of threads. AUTOGRAD_THREAD is called pt_autograd_0. */
enum { MAIN_THREAD = 1, AUTOGRAD_THREAD = 2, OTHER_THREAD = 3 };

struct recording {
	const char *path;
	struct recording_file file;
	uint64_t stamp, events;
	uint64_t next_address;
	uint64_t allocated_bytes[4];
	uint32_t codes, stacks, names;
	struct gmt_map name_ids; /* hash of a text to its id */

	struct gmt_recording *loaded;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_history history;
	struct gmt_replay replay;
	struct gmt_leaks leaks;
};

/* A block that a test allocates. */
struct block {
	uint64_t size_bytes;
	uint32_t stack; /* the Python stack; 0: none */
	uint32_t native; /* the native stack; 0: none */
	uint32_t thread; /* 0: MAIN_THREAD */
	uint8_t layer; /* 0: PyTorch */
	uint8_t space;   /* 0: device */
	int16_t device;
	uint64_t address; /* 0: a new address */
};

void recording_begin(struct recording *recording, const char *path);

/* Adds a Python stack, leaf first: "file:line function", separated by newlines. Returns its id. */
uint32_t recording_stack(struct recording *recording, const char *frames);

/* Adds a native stack of one frame without a name in this module. Returns its id. */
uint32_t recording_native(struct recording *recording, const char *module);

/* Allocates the block and returns its address. */
uint64_t recording_alloc(struct recording *recording, struct block block);
#define ALLOC(recording, ...) recording_alloc((recording), (struct block){ __VA_ARGS__ })

void recording_free(struct recording *recording, uint8_t layer, uint64_t address,
	uint64_t size_bytes);

struct mark {
	enum gmt_mark_kind kind;
	enum gmt_mark_source source;
	const char *name; /* NULL: no name */
	uint64_t object;
	uint32_t thread; /* 0: MAIN_THREAD */
};

void recording_mark(struct recording *recording, struct mark mark);
#define MARK(recording, kind_name, source_name, ...) \
	recording_mark((recording), \
		(struct mark){ .kind = GMT_MARK_KIND_##kind_name, \
			.source = GMT_MARK_SOURCE_##source_name, \
			__VA_ARGS__ })

void recording_option(struct recording *recording, const char *key, const char *value);

/* Ends the file, loads it, and computes its traces and its timeline. */
void recording_read(struct recording *recording);

/* Same as recording_read, and also finds leaks. `options` may be NULL for the defaults. */
void recording_judge(struct recording *recording, uint64_t until_ns,
	const struct gmt_leaks_options *options);

/* Frees the results of recording_read or recording_judge. */
void recording_end(struct recording *recording);

#endif

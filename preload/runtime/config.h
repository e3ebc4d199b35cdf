/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_CONFIG_H
#define GMT_RUNTIME_CONFIG_H

/*
 * The recorder's options, from the variable GPUMEMTRACE_OPTIONS. options/recorder_options.h says how its text is read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/identifier.h"
#include "runtime/hidden.h"
#include "options/option_value.h"
#include "options/recorder_options.h"

enum {
	GMT_DEPTH_MAX = 512, /* frames of a stack, each kind */
	GMT_OUTPUT_BYTES = GMT_RECORDER_OUTPUT_BYTES,
	GMT_PATIENCE_S = 20,
};

/* How native stacks are walked (unwind/native.h). */
enum gmt_unwind_way { GMT_UNWIND_WAY_AUTO, GMT_UNWIND_WAY_LIBUNWIND, GMT_UNWIND_WAY_FRAME_POINTERS };

/* What a thread does whose ring is full. */
enum gmt_overflow {
	GMT_OVERFLOW_DROP,  /* drop at once */
	GMT_OVERFLOW_BLOCK, /* wait at most 1 ms for this event and about 1 % of the time for all, then drop */
	GMT_OVERFLOW_WAIT,  /* wait for as long as the writer goes on making room; see gmt_config_patience_ns */
};

/* What the file keeps of events (writer/rotation.h). */
enum gmt_mode { GMT_MODE_FULL, GMT_MODE_WINDOW, GMT_MODE_AGGREGATE };

struct gmt_config {
	/* What each event looks at, on one line of the cache. */
	_Alignas(64) bool native_stacks;
	bool python_stacks;
	bool free_stacks;
	enum gmt_unwind_way unwind;
	uint32_t depth;
	uint32_t selftest; /* each so many native stacks are compared with the unwinder's; 0: none */

	char output[GMT_OUTPUT_BYTES]; /* template, see writer/output.h */
	enum gmt_overflow overflow;
	bool is_writer_lazy; /* no thread of the recorder's in a program with one thread, until it is needed (writer/writer.h) */
	bool exports;
	bool dynsym; /* hooked names are changed in the driver's and libc's tables (interpose/dynsym.h) */
	bool watch_code; /* freed code objects of Python are counted (python/python_deaths.h) */
	bool steps; /* found automatically (marks/optimizer.h) */
	bool tensors; /* modules and optimizers are asked for them (marks/tensor_roles.h) */
	bool nvtx; /* NVTX is recorded */
	bool samples; /* the driver is asked what its devices' memory is */
	bool nvml; /* and so is NVML */
	bool paused; /* begin without stacks */
	bool snapshot_oom;
	uint64_t snapshot_peak_bytes; /* 0: off */
	int snapshot_signal;          /* 0: off */
	char runtime_folder[GMT_OUTPUT_BYTES]; /* XDG_RUNTIME_DIR; "" when there is none */
	char run[GMT_IDENTIFIER_BYTES]; /* of the `gpumemtrace run` that started the process; "" when there is none */
	uint32_t verbosity; /* 0 silent, 1 warnings, 2 tells what it does */
	bool command; /* arguments and working folder of the program are kept */
	bool help;
	enum gmt_mode mode;
	struct gmt_window window;
	uint64_t max_size_bytes; /* of the file with its temporary one; UINT64_MAX: no bound */
	uint64_t memory_bytes;
};

/* Read only after gmt_config_init. */
extern GMT_HIDDEN struct gmt_config gmt_config;

/*
 * How long one thread waits for another before it goes on without: `usual_ns`, by which a machine that is hung up holds no
 * program up. With overflow=wait it is as long as a machine that others use too may take: who asks for that would rather wait
 * than lose anything.
 */
static inline uint64_t gmt_config_patience_ns(uint64_t usual_ns)
{
	const uint64_t long_ns = (uint64_t)GMT_PATIENCE_S * 1000000000;

	return gmt_config.overflow == GMT_OVERFLOW_WAIT && usual_ns < long_ns ? long_ns : usual_ns;
}

static inline uint32_t gmt_config_patience_ms(uint32_t usual_ms)
{
	return (uint32_t)(gmt_config_patience_ns((uint64_t)usual_ms * 1000000) / 1000000);
}

/*
 * Reads `options` (NULL: none) over the defaults. An option that is refused keeps the value that it had; what is wrong is
 * kept for gmt_config_warn. No memory, no stdio.
 */
void gmt_config_init(const char *options);

/* Says on stderr and by `note`, one line each, what is wrong with the options. Once. */
void gmt_config_warn(void (*note)(const char *text));

/* Prints all options with defaults and meanings to stderr (`help=1`). */
void gmt_config_help(void);

/* Calls `tell` with each option's key and its effective value as text. */
void gmt_config_list(void (*tell)(void *context, const char *key, const char *value), void *context);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_CONFIG_H
#define GMT_RUNTIME_CONFIG_H

/*
 * The recorder's options, from the variable GPUMEMTRACE_OPTIONS. options/recorder_options.h
 * describes its syntax.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/uuid.h"
#include "runtime/hidden.h"
#include "options/option_value.h"
#include "options/recorder_options.h"

enum {
	GMT_DEPTH_MAX = 512, /* maximum number of native frames, and of Python frames, in a stack */
	GMT_OUTPUT_BYTES = GMT_RECORDER_OUTPUT_BYTES,
	GMT_LONG_WAIT_S = 60,
};

/* How the recorder unwinds native stacks (unwind/native_capture.h; the option `unwind`). */
enum gmt_unwind_method {
	GMT_UNWIND_METHOD_AUTO,
	GMT_UNWIND_METHOD_LIBUNWIND,
	GMT_UNWIND_METHOD_FRAME_POINTERS
};

/* The action of a thread when its ring is full. */
enum gmt_overflow {
	GMT_OVERFLOW_DROP,  /* drop at once */
	/* Wait at most 1 ms for this event and about 1 % of the time for all events, then drop. */
	GMT_OVERFLOW_BLOCK,
	/* Wait as long as the writer continues to make room; see gmt_config_wait_ns. */
	GMT_OVERFLOW_WAIT,
};

/* How the file keeps events (writer/file_compaction.h). */
enum gmt_mode { GMT_MODE_FULL, GMT_MODE_WINDOW, GMT_MODE_AGGREGATE };

struct gmt_config {
	/* Options that each event reads, together in one cache line. */
	_Alignas(64) bool native_stacks;
	bool python_stacks;
	bool free_stacks;
	enum gmt_unwind_method unwind;
	uint32_t depth;
	/* Every selftest-th native stack is compared with the unwinder's; 0: no stack. */
	uint32_t selftest;

	char output[GMT_OUTPUT_BYTES]; /* template, see files/output_name.h */
	enum gmt_overflow overflow;
	/*
	 * A program with one thread gets no thread of the recorder until it is needed
	 * (writer/writer.h).
	 */
	bool is_writer_lazy;
	/* false: the option `ranks` excludes this process, and the recorder stays inactive */
	bool records_process;
	bool exports;
	/*
	 * Change hooked names in the symbol tables of the driver and libc (interpose/patch_dynsym.h).
	 */
	bool dynsym;
	bool watch_code; /* count freed code objects of Python (python/python_code_frees.h) */
	bool steps; /* find steps automatically (marks/optimizer_steps.h) */
	bool tensors; /* ask modules and optimizers for their tensors (marks/tensor_roles.h) */
	bool nvtx; /* record NVTX */
	bool samples; /* ask the driver for the memory of its devices */
	bool nvml; /* ask NVML too */
	bool paused; /* begin without stacks (producer/event.h, gmt_event_pause_stacks) */
	bool snapshot_oom;
	uint64_t snapshot_peak_bytes; /* 0: off */
	int snapshot_signal;          /* 0: off */
	char runtime_folder[GMT_OUTPUT_BYTES]; /* XDG_RUNTIME_DIR; "": not set */
	/* Name of the `gpumemtrace run` that started the process; "": not started by it. */
	char run[GMT_UUID_BYTES];
	uint32_t verbosity; /* 0 silent, 1 warnings, 2 also reports what the recorder does */
	bool command; /* store the program's arguments and working folder */
	bool help;
	enum gmt_mode mode;
	struct gmt_window window;
	/* Maximum size of the file plus its temporary file; UINT64_MAX: no limit. */
	uint64_t max_size_bytes;
	uint64_t memory_bytes;
};

/* Read only after gmt_config_init. */
extern GMT_HIDDEN struct gmt_config gmt_config;

/*
 * Returns how long a thread waits for another thread before it continues without it. Usually this
 * is `usual_ns`, so that a machine that hangs does not stop the program. With overflow=wait it is
 * at least GMT_LONG_WAIT_S: a user who sets this option prefers waiting to losing events, and on a
 * busy machine a thread may need so long.
 */
static inline uint64_t gmt_config_wait_ns(uint64_t usual_ns)
{
	const uint64_t long_ns = (uint64_t)GMT_LONG_WAIT_S * 1000000000;

	return gmt_config.overflow == GMT_OVERFLOW_WAIT && usual_ns < long_ns ? long_ns : usual_ns;
}

static inline uint32_t gmt_config_wait_ms(uint32_t usual_ms)
{
	return (uint32_t)(gmt_config_wait_ns((uint64_t)usual_ms * 1000000) / 1000000);
}

/*
 * Sets the defaults and then `options` (NULL: no options). A refused option keeps its previous
 * value. Error messages are kept for gmt_config_warn. Allocates no memory, uses no stdio streams.
 */
void gmt_config_init(const char *options);

/*
 * Returns whether option `ranks` has the rank. A program may set its rank after gmt_config_init, as
 * the processes of multiprocessing do. `records_process` refers to the rank at gmt_config_init.
 */
bool gmt_config_has_rank(int32_t rank);

/* Passes the errors in the options to `report`, one line each. A second call passes none again. */
void gmt_config_warn(void (*report)(const char *text));

/* Passes all options with defaults and meanings to `print`, in pieces (`help=1`). */
void gmt_config_help(void (*print)(const char *text));

/* Calls `list` with each option's key and its effective value as text. */
void gmt_config_list(void (*list)(void *context, const char *key, const char *value),
	void *context);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_JUDGE_H
#define GMT_TESTS_JUDGE_H

/* Compares recordings with the calls in the driver's log. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "step_log.h"
#include "shared_memory/shared_recording_layout.h"

enum { JUDGE_TEXT_BYTES = 256 };

/* Calls [first, last) of the log that process `pid` made. */
struct judge_calls {
	const struct step_log *step_log;
	uint32_t first, last;
	pid_t pid;
};

/* The differences that are allowed. */
struct judge_allowance {
	uint64_t in_flight; /* calls that are neither recorded nor counted as lost */
	/* calls of the program itself, not of its handler, that are counted as lost or have no stack */
	uint64_t missing_program_calls;
	/* calls that are counted as lost, although they are recorded or the driver never saw them */
	uint64_t counted_twice;
	/* how far the peak may differ: a handler's call inside another call has no defined order */
	uint64_t peak_bytes;
	bool may_be_incomplete; /* the recording need not end in order */
};

/* The recorder's memory of a process that is still there, or was killed. */
struct judge_memory {
	char path[320];
	const struct gmt_shared_recording_header *header;
};

/*
 * Finds and maps the memory of process `pid` for the file `recording`. Returns false if there is no
 * complete memory.
 */
bool judge_memory_open(struct judge_memory *memory, pid_t pid, const char *recording);
void judge_memory_close(struct judge_memory *memory);

/* Removes the memory of a process that has ended. */
void judge_memory_remove(struct judge_memory *memory);

/* The counts in the memory at one moment. */
struct judge_counts {
	uint64_t published; /* events in the first ring */
	uint64_t lost; /* lost events, for all reasons */
};
struct judge_counts judge_memory_counts(const struct judge_memory *memory);

enum { JUDGE_STACKS = STEP_PLACES * 4 };

/*
 * The stacks of the program's allocations, by place and by the way of the call. 0: not seen yet.
 */
struct judge_stacks {
	uint32_t ids[JUDGE_STACKS];
};

/*
 * Compares the events that were published after `before` with `calls`. `way` selects the stack of
 * the stepped call. Adds unknown stacks to `stacks`; NULL: does not compare stacks. Writes an error
 * to `ret_text`, else makes it empty.
 */
void judge_round(const struct judge_memory *memory, const struct judge_counts *before,
	const struct judge_calls *calls, const struct judge_allowance *allowance,
	struct judge_stacks *stacks, unsigned way, char ret_text[JUDGE_TEXT_BYTES]);

/*
 * Compares a whole recording with `calls`. `memory` is the memory that a killed process left, else
 * NULL. Writes an error to `ret_text`, else makes it empty.
 */
void judge_file(const char *path, const char *memory, const struct judge_calls *calls,
	const struct judge_allowance *allowance, char ret_text[JUDGE_TEXT_BYTES]);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_JUDGE_H
#define GMT_TESTS_JUDGE_H

/* Compares what was recorded with what the driver's log says was called. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "step_log.h"
#include "shared_memory/shared_recording.h"

enum { JUDGE_TEXT_BYTES = 256 };

/* Calls [first, last) of the log that process `pid` made. */
struct judge_calls {
	const struct step_log *step_log;
	uint32_t first, last;
	pid_t pid;
};

/* What may differ. */
struct judge_allowance {
	uint64_t in_flight;     /* calls that are neither recorded nor counted */
	uint64_t of_program; /* calls of the program itself, not of its handler, that are only counted
							as lost, or have no stack */
	uint64_t
		counted_twice; /* counted losses of calls that the driver never saw, or that are recorded */
	uint64_t peak_bytes; /* by how much the peak may differ: calls of a handler inside a call have
							no order */
	bool may_be_incomplete; /* the recording need not end in order */
};

/* The recorder's memory of a process that is still there, or was killed. */
struct judge_memory {
	char path[320];
	const struct gmt_shared_recording_header *header;
};

/*
 * Finds and maps what process `pid` has for the file `recording`. False when there is none that is
 * whole.
 */
bool judge_memory_open(struct judge_memory *memory, pid_t pid, const char *recording);
void judge_memory_close(struct judge_memory *memory);

/* Of a process that is over. */
void judge_memory_remove(struct judge_memory *memory);

/* What the memory has counted by now. */
struct judge_counts {
	uint64_t published; /* of the first ring */
	uint64_t lost; /* events, by all reasons */
};
struct judge_counts judge_memory_counts(const struct judge_memory *memory);

enum { JUDGE_STACKS = STEP_PLACES * 4 };

/*
 * The stacks of the program's allocations, by place and the way that the call went; 0: not seen
 * yet.
 */
struct judge_stacks {
	uint32_t ids[JUDGE_STACKS];
};

/*
 * Compares the events that were published after `before` with `calls`. `way` says which stack the
 * stepped call has. Stacks that are not known yet are learned; `stacks` is NULL where they are not
 * compared. Writes what is wrong to `ret_text`, else makes it empty.
 */
void judge_round(const struct judge_memory *memory, const struct judge_counts *before,
	const struct judge_calls *calls, const struct judge_allowance *allowance,
	struct judge_stacks *stacks, unsigned way, char ret_text[JUDGE_TEXT_BYTES]);

/*
 * Compares a whole recording with `calls`. `memory`: of a process that was killed, what it left;
 * else NULL. Writes what is wrong to `ret_text`, else makes it empty.
 */
void judge_file(const char *path, const char *memory, const struct judge_calls *calls,
	const struct judge_allowance *allowance, char ret_text[JUDGE_TEXT_BYTES]);

#endif

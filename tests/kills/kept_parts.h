/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_KEPT_PARTS_H
#define GMT_TESTS_KEPT_PARTS_H

/* Declarations that only the files of the check (kept_*.c) share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kept_log.h"
#include "reader/load/recording.h"

/*
 * The part of a thread's log that the recording has: calls[0] to calls[folded - 1] only in totals,
 * calls[folded] to calls[total - 1] as events.
 */
struct kept_part {
	uint64_t folded, kept, total; /* total = folded + kept */
	uint64_t others;          /* events that are not the program's calls */
	uint64_t pending_address; /* of an allocation that returned before the kill, but has no note */
};

struct kept_case {
	const struct gmt_recording *recording;
	const struct kept_log *kept;
	struct kept_part parts[KEPT_THREADS];
};

/* A block that a thread holds, by its log. */
struct kept_held {
	uint64_t address, size_bytes;
	uint64_t end_ns; /* when the allocation returned; UINT64_MAX: that has no note */
	size_t thread;
};

/* Sums over all threads. */
struct kept_sums {
	uint64_t allocs, frees, total_bytes, live_bytes, live_blocks;
};

/* Prints the difference `what` with two numbers. Returns 1. */
int kept_wrong(const char *what, uint64_t first, uint64_t second);

/* Returns the address that a recorded call allocated or freed. */
uint64_t kept_address(const struct kept_case *kept_case, size_t thread, uint64_t call);

/*
 * Fills the blocks that the thread holds after `calls` calls, and adds the calls to *sums. Returns
 * the number of blocks.
 */
size_t kept_hold(const struct kept_case *kept_case, size_t thread, uint64_t calls,
	struct kept_held ret_held[KEPT_HELD], struct kept_sums *sums);

/* Compares the compacted part with the first calls of each thread. Returns 1 if they differ. */
int kept_check_compacted(struct kept_case *kept_case);

/* Compares the accounts at the end with all recorded calls. Returns 1 if they differ. */
int kept_check_accounting(const struct kept_case *kept_case);

/* Computes the bounds of the peak; one thread has equal bounds. Returns false if out of memory. */
bool kept_peak(const struct kept_case *kept_case, uint64_t *ret_least_bytes,
	uint64_t *ret_most_bytes);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_COMPARISON_H
#define GMT_TESTS_COMPARISON_H

/* Declarations that only the files of the comparison (compare_*.c, peak_bounds.c) share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call_log.h"
#include "reader/load/recording.h"

/*
 * The part of a thread's log that the recording has: calls[0] to calls[compacted - 1] only in
 * totals, calls[compacted] to calls[total - 1] as events.
 */
struct recorded_part {
	uint64_t compacted, in_detail, total; /* total = compacted + in_detail */
	uint64_t other_events;    /* events that are not the program's calls */
	uint64_t pending_address; /* of an allocation that returned, but the log has no address */
};

struct comparison {
	const struct gmt_recording *recording;
	const struct call_log *call_log;
	struct recorded_part parts[LOGGED_THREADS];
};

/* A live block of a thread, according to the log. */
struct live_block {
	uint64_t address, size_bytes;
	uint64_t end_ns; /* when the allocation returned; UINT64_MAX: the log does not say */
	size_t thread;
};

/* Sums over all threads. */
struct log_sums {
	uint64_t allocs, frees, total_bytes, live_bytes, live_blocks;
};

/* Prints the difference, with two numbers that `what` explains. Returns 1. */
int report_difference(const char *what, uint64_t first, uint64_t second);

/* Returns the address that a recorded call allocated or freed. */
uint64_t address_of_call(const struct comparison *comparison, size_t thread, uint64_t call);

/*
 * Fills the live blocks of the thread after its first `calls` calls, and adds these calls to *sums.
 * Returns the number of live blocks.
 */
size_t live_blocks_after(const struct comparison *comparison, size_t thread, uint64_t calls,
	struct live_block ret_blocks[MAX_LIVE_PER_THREAD], struct log_sums *sums);

/* Compares the compacted part with the first calls of each thread. Returns 1 if they differ. */
int compare_compacted(struct comparison *comparison);

/* Compares the accounts at the end with all recorded calls. Returns 1 if they differ. */
int compare_accounts(const struct comparison *comparison);

/*
 * Computes the lowest and the highest peak that the log allows. They are equal if the program has
 * one thread. Returns false if out of memory.
 */
bool compute_peak_bounds(const struct comparison *comparison, uint64_t *ret_min_bytes,
	uint64_t *ret_max_bytes);

#endif

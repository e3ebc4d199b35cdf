/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_KEPT_PARTS_H
#define GMT_TESTS_KEPT_PARTS_H

/* What the files of the check share; for them alone. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kept_log.h"
#include "reader/load/snapshot.h"

/*
 * What the recording has of a thread: calls[0] to calls[folded - 1] in totals, up to calls[total -
 * 1] as events.
 */
struct kept_part {
	uint64_t folded, kept, total;
	uint64_t others;          /* events that are not the program's calls */
	uint64_t pending_address; /* of the allocation that returned and was not noted */
};

struct kept_case {
	const struct gmt_snapshot *snapshot;
	const struct kept_log *kept;
	struct kept_part parts[KEPT_THREADS];
};

struct kept_held {
	uint64_t address, size_bytes;
	uint64_t end_ns; /* of the call; UINT64_MAX: it was not noted */
	size_t thread;
};

/* Sums over all threads. */
struct kept_sums {
	uint64_t allocs, frees, total_bytes, live_bytes, live_blocks;
};

/* Prints it and returns 1. */
int kept_wrong(const char *what, uint64_t first, uint64_t second);

/* The address that the call, one of those recorded, was about. */
uint64_t kept_address(const struct kept_case *kept_case, size_t thread, uint64_t call);

/* What the thread holds after so many of its calls, and adds these to *sums. Returns how many. */
size_t kept_hold(const struct kept_case *kept_case, size_t thread, uint64_t calls,
	struct kept_held ret_held[KEPT_HELD], struct kept_sums *sums);

/* Whether what was folded is what the threads' first calls say. */
int kept_check_past(struct kept_case *kept_case);

/* Whether the books at the end are what all recorded calls say. */
int kept_check_books(const struct kept_case *kept_case);

/*
 * Between which two numbers the peak must lie: equal for a single thread. False when out of memory.
 */
bool kept_peak(const struct kept_case *kept_case, uint64_t *ret_least_bytes,
	uint64_t *ret_most_bytes);

#endif

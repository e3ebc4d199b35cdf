/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_ALLOCATION_SEQUENCE_H
#define GMT_READER_STEPS_ALLOCATION_SEQUENCE_H

/*
 * The allocations of the program's work, in order of time, with random access. The memory in use
 * does not depend on the number of events: blocks of allocations are read from the recording when
 * they are needed, and some are kept. One thread.
 */

#include "reader/load/events.h"
#include "reader/stacks/traces.h"
#include "reader/load/recording.h"

enum {
	GMT_ALLOCATION_SEQUENCE_BLOCK = 1 << 12, /* allocations of a block */
	GMT_ALLOCATION_SEQUENCE_KEPT = 1 << 8, /* blocks that are kept */
	GMT_ALLOCATION_SEQUENCE_LAST = 1 << 21, /* allocations at the end whose origins are kept */
	GMT_ALLOCATION_SEQUENCE_FREED_DIVISOR = 4, /* see gmt_allocation_sequence_frees_enough */
};

struct gmt_allocation_sequence_block {
	size_t number_plus_1; /* 0: empty */
	uint64_t stamps[GMT_ALLOCATION_SEQUENCE_BLOCK];
	uint32_t origins[GMT_ALLOCATION_SEQUENCE_BLOCK];
};

struct gmt_allocation_sequence {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	uint64_t work_end;
	/* true: the origin of an allocation is its merged stack; false: its trace */
	bool by_stack;
	size_t count;
	uint64_t frees; /* number of frees of such blocks */
	struct gmt_events_reader reader;
	GMT_VEC(size_t) begins; /* by block: its first event */
	/* Origins of the last GMT_ALLOCATION_SEQUENCE_LAST allocations, or of all if they are fewer. */
	GMT_VEC(uint64_t) last;
	struct gmt_allocation_sequence_block
		*kept; /* GMT_ALLOCATION_SEQUENCE_KEPT of them; NULL at first */
};

/*
 * Returns whether steps of loops and repeats take an event into account. These are events of
 * PyTorch's blocks; in programs without such blocks, of all allocations.
 */
bool gmt_allocation_sequence_includes(const struct gmt_recording *recording,
	const struct gmt_recording_event *event, uint64_t work_end);

/*
 * Counts the allocations up to the stamp `work_end`. `by_stack`: origins are numbers of merged
 * stacks, else of traces. The arguments must live as long as `ret_allocations`. Returns false when
 * out of memory. The caller must call gmt_allocation_sequence_fini in both cases.
 */
bool gmt_allocation_sequence_compute(struct gmt_allocation_sequence *ret_allocations,
	const struct gmt_recording *recording, const struct gmt_traces *traces, uint64_t work_end,
	bool by_stack);

/*
 * Returns whether a program that allocated and freed so many blocks frees enough of them, a quarter
 * or more, that loops and repeats may be its steps.
 */
static inline bool gmt_allocation_sequence_frees_enough(uint64_t frees, uint64_t allocs)
{
	return frees * GMT_ALLOCATION_SEQUENCE_FREED_DIVISOR >= allocs;
}

/* Frees the origins of the last allocations. */
void gmt_allocation_sequence_forget_last(struct gmt_allocation_sequence *allocations);

/* Returns the block of an allocation, which must exist; NULL when out of memory. */
const struct gmt_allocation_sequence_block *gmt_allocation_sequence_read(
	struct gmt_allocation_sequence *allocations, size_t index);

/* Same as gmt_allocation_sequence_read, and fast if the block is kept. */
static inline const struct gmt_allocation_sequence_block *gmt_allocation_sequence_block_of(
	struct gmt_allocation_sequence *allocations, size_t index)
{
	size_t number = index / GMT_ALLOCATION_SEQUENCE_BLOCK;
	struct gmt_allocation_sequence_block *kept = allocations->kept;

	return kept && kept[number % GMT_ALLOCATION_SEQUENCE_KEPT].number_plus_1 == number + 1
		? &kept[number % GMT_ALLOCATION_SEQUENCE_KEPT]
		: gmt_allocation_sequence_read(allocations, index);
}

void gmt_allocation_sequence_fini(struct gmt_allocation_sequence *allocations);

#endif

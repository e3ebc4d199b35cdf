/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_OOM_OUTCOMES_H
#define GMT_ACCOUNTING_OOM_OUTCOMES_H

/*
 * Determines the outcome of each request that was refused for lack of memory. In the flow: events
 * in order of time -> out-of-memory outcomes -> analysis/oom/ooms.h, which documents the rules, and
 * compaction (compact.h), which counts the outcomes.
 *
 * No threads, no I/O. The memory use grows with the number of threads that met refusals.
 * Zero-initialise, set `on_outcome` and `user`, and end with gmt_oom_outcomes_fini.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"

enum gmt_oom_outcome {
	GMT_OOM_OUTCOME_FAILED, /* the refusal reached the program as an error */
	GMT_OOM_OUTCOME_RETRY,  /* PyTorch's next try succeeded */
	/* part of one request: another refusal of the same request has the outcome */
	GMT_OOM_OUTCOME_PART,
};

/*
 * CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation, and the number of tries that PyTorch
 * makes.
 */
enum { GMT_OOM_RESULT = 2, GMT_OOM_MAX_TRIES = 3 };

/* The fields of an event that the outcomes depend on. */
struct gmt_oom_outcomes_event {
	uint64_t address, size_bytes;
	uint32_t thread; /* thread id */
	int16_t device;
	uint8_t layer, space;
};

/* Driver refusals of one thread, for one size on one device, whose outcome is still open. */
struct gmt_oom_outcomes_chain {
	uint64_t refusals[GMT_OOM_MAX_TRIES]; /* the last refusals, oldest first */
	unsigned count;         /* 0: no refusal is open */
	uint64_t size_bytes;
	int16_t device;
	uint8_t space;
	bool retried;           /* a later driver call returned a block of this size, at `address` */
	uint64_t address;
};

struct gmt_oom_outcomes {
	/*
	 * Reports that a refusal (the owner's number) has a new outcome. Each refusal starts as
	 * GMT_OOM_OUTCOME_FAILED. `parts`: number of driver refusals that this refusal represents. A
	 * refusal by PyTorch itself keeps its outcome, so the callback reports only `parts` for it.
	 */
	void (*on_outcome)(void *user, uint64_t refusal, enum gmt_oom_outcome outcome, unsigned parts);
	void *user;
	struct gmt_map threads; /* maps a thread id to an index in chains */
	GMT_VEC(struct gmt_oom_outcomes_chain) chains;
	size_t open; /* number of open chains */
};

/*
 * Returns whether a refused request (kind alloc_failed) was refused for lack of memory. PyTorch
 * reports no other refusals, and no error codes.
 */
bool gmt_oom_outcomes_is_out_of_memory(uint8_t layer, uint32_t result);

/* Adds a refusal. `refusal` is the owner's number. Returns false when out of memory. */
bool gmt_oom_outcomes_refused(struct gmt_oom_outcomes *oom_outcomes,
	const struct gmt_oom_outcomes_event *event, uint64_t refusal);

/* Processes a successful allocation. */
void gmt_oom_outcomes_granted(struct gmt_oom_outcomes *oom_outcomes,
	const struct gmt_oom_outcomes_event *event);

void gmt_oom_outcomes_fini(struct gmt_oom_outcomes *oom_outcomes);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_OOM_OUTCOMES_H
#define GMT_ACCOUNTING_OOM_OUTCOMES_H

/*
 * What became of each request that was refused for lack of memory. In the flow: events in order of time -> fates ->
 * analysis/oom/ooms.h, which has the rules, and folding (compact.h), which counts them. No threads, no I/O. Memory follows how
 * many threads met refusals. Zero-initialise, set `became` and `user`, end with gmt_oom_outcomes_fini.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"

enum gmt_oom_outcome {
	GMT_OOM_OUTCOME_FAILED, /* reached the program */
	GMT_OOM_OUTCOME_RETRY,  /* PyTorch's next try succeeded */
	GMT_OOM_OUTCOME_PART,   /* one of the refusals before the one that stands for them, or behind the first of a retry */
};

/* CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation. */
enum { GMT_OOM_OUTCOME_RESULT = 2, GMT_OOM_OUTCOME_TRIES = 3 };

/* What of an event is looked at. */
struct gmt_oom_outcomes_event {
	uint64_t address, size_bytes;
	uint32_t thread; /* id */
	int16_t device;
	uint8_t layer, space;
};

/* Refusals of one thread, by the driver, for one size on one device, whose fate is open. */
struct gmt_oom_outcomes_chain {
	uint64_t refusals[GMT_OOM_OUTCOME_TRIES]; /* the last of them, oldest first */
	unsigned count;         /* 0: none is open */
	uint64_t size_bytes;
	int16_t device;
	uint8_t space;
	bool retried;           /* then the driver gave that much: */
	uint64_t address;
};

struct gmt_oom_outcomes {
	/*
	 * A refusal, by the owner's number, became another than GMT_OOM_OUTCOME_FAILED, as which each begins. `parts`: refusals by the
	 * driver that it stands for. Of PyTorch's own one, which stays what it is, only `parts` are told.
	 */
	void (*became)(void *user, uint64_t refusal, enum gmt_oom_outcome fate, unsigned parts);
	void *user;
	struct gmt_map threads; /* id to index in chains */
	GMT_VEC(struct gmt_oom_outcomes_chain) chains;
	size_t open; /* chains */
};

/* Whether a request that was refused (kind alloc_failed) was so for lack of memory. PyTorch reports no others, and no codes. */
bool gmt_oom_outcomes_is_one(uint8_t layer, uint32_t result);

/* One more refusal, with a number of the owner's. False: out of memory. */
bool gmt_oom_outcomes_refused(struct gmt_oom_outcomes *oom_outcomes, const struct gmt_oom_outcomes_event *event, uint64_t refusal);

/* An allocation. */
void gmt_oom_outcomes_given(struct gmt_oom_outcomes *oom_outcomes, const struct gmt_oom_outcomes_event *event);

void gmt_oom_outcomes_fini(struct gmt_oom_outcomes *oom_outcomes);

#endif

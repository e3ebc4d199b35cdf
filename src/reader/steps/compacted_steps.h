/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_COMPACTED_STEPS_H
#define GMT_READER_STEPS_COMPACTED_STEPS_H

/*
 * Which counters of a fold (records past_counter) the steps of a series are of. Part of timeline. One thread; false
 * means out of memory.
 */

#include "containers/map.h"
#include "reader/steps/timeline.h"

struct gmt_step_compacteds {
	const struct gmt_snapshot *snapshot;
	struct gmt_map ids;  /* counter to index in past.counters */
	struct gmt_map counts; /* counter and stamp to steps that a mark stands for, where these are several */
	struct gmt_map rows; /* index in past.counters to index in series->past */
	bool misfits;        /* a step is not as the fold has it */
};

/* Counters of this source. */
bool gmt_step_compacteds_init(struct gmt_step_compacteds *pasts, const struct gmt_snapshot *snapshot, enum gmt_mark_source source);

/* How many steps end with the one that ends at this mark: 1, or more where the fold put steps together. */
uint32_t gmt_step_compacteds_count(const struct gmt_step_compacteds *pasts, const struct gmt_snapshot_mark *mark);

/* The last step of the series ends at this mark. */
bool gmt_step_compacteds_note(struct gmt_step_compacteds *pasts, struct gmt_step_series *series, const struct gmt_snapshot_mark *mark);

/* All marks were noted. Gives back what it took. */
void gmt_step_compacteds_end(struct gmt_step_compacteds *pasts, struct gmt_step_series *series);

#endif

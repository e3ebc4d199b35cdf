/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_COMPACTED_STEPS_H
#define GMT_READER_STEPS_COMPACTED_STEPS_H

/*
 * A compaction may merge steps, and stores how many there were (past_counter and past_step
 * records). For each step of a series, this finds the stored counter, and the number of steps that
 * were merged into it. Part of timeline.
 *
 * Not thread-safe. The functions that return bool return false when out of memory.
 */

#include "containers/map.h"
#include "reader/steps/timeline.h"

struct gmt_compacted_steps {
	const struct gmt_recording *recording;
	struct gmt_map
		ids; /* from the hash that identifies a counter to its index in compacted.counters */
	/* from the hash of a counter and a stamp to the number of steps of a mark, if more than one */
	struct gmt_map counts;
	struct gmt_map rows; /* from index in compacted.counters to index in series->compacted */
	bool mismatches; /* a step differs from the compacted prefix */
};

/* Prepares `compacted_steps` (zeroed) for the counters of this source. */
bool gmt_compacted_steps_init(struct gmt_compacted_steps *compacted_steps,
	const struct gmt_recording *recording, enum gmt_mark_source source);

/* Returns how many steps end at this mark: 1, or more if the compaction merged steps. */
uint32_t gmt_compacted_steps_count(const struct gmt_compacted_steps *compacted_steps,
	const struct gmt_recording_mark *mark);

/* Notes that the last step of the series ends at this mark. */
bool gmt_compacted_steps_note(struct gmt_compacted_steps *compacted_steps,
	struct gmt_step_series *series, const struct gmt_recording_mark *mark);

/* Checks the counts when all marks were noted, and frees the memory of `compacted_steps`. */
void gmt_compacted_steps_end(struct gmt_compacted_steps *compacted_steps,
	struct gmt_step_series *series);

#endif

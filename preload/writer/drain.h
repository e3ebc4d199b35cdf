/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_DRAIN_H
#define GMT_WRITER_DRAIN_H

/*
 * Empties the rings of all threads into the stream. Data flow: ring -> drain -> stream. Only the
 * writer's thread uses it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "writer/recording_state.h"
#include "writer/stream.h"

/* Zero-initialised at the beginning of a recording. Large: use static storage, not a stack. */
struct gmt_drain {
	struct {
		uint32_t thread; /* the ring's owner when the ring was last emptied */
		bool is_thread_written;
		uint64_t dropped[GMT_DROP_COUNT]; /* counts that were last written */
	} slots[GMT_RECORDING_MEMORY_RINGS];
	struct gmt_ring_event batch[GMT_RING_ROWS_MAX];
};

/*
 * Writes the events that the rings have now, and frees the rings of ended threads. Without `all`,
 * takes events only in batches of GMT_RING_ROWS_MAX. Makes room in the depot for new stacks.
 */
void gmt_drain_rings(struct gmt_drain *drain, struct gmt_recording_state *recording,
	struct gmt_stream *stream, bool all);

#endif

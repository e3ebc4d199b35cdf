/* SPDX-License-Identifier: MIT */
#include "writer/drain.h"

#include <string.h>

static void report_drops(struct gmt_drain *drain, struct gmt_stream *stream, uint32_t index,
	const struct gmt_ring *ring)
{
	for (int drop = 0; drop < GMT_DROP_COUNT; drop++) {
		uint64_t *reported = &drain->slots[index].dropped[drop];
		uint64_t count = atomic_load_explicit(&ring->dropped[drop], memory_order_relaxed);

		if (count != *reported)
			gmt_stream_drop(stream, ring->thread, gmt_drop_reason_text((enum gmt_drop_reason)drop),
				count, *reported);
		*reported = count;
	}
}

/*
 * Writes the events that one ring has now. `all`: see gmt_drain_rings. Events that the thread adds
 * meanwhile wait for the next round. Otherwise a thread that is faster than the writer would keep
 * the writer from all other rings.
 */
static void drain_slot(struct gmt_drain *drain, struct gmt_recording_state *recording,
	struct gmt_stream *stream, uint32_t index, bool all)
{
	struct gmt_recording_memory *memory = recording->memory;
	/* Pairs with the release in gmt_recording_memory_leave_ring, after the thread's last event. */
	uint32_t state =
		atomic_load_explicit(&memory->header->slot_states[index], memory_order_acquire);
	struct gmt_ring *ring = gmt_recording_memory_ring(memory, index);

	if (state == GMT_SLOT_FREE || !gmt_recording_memory_has_ring(memory, index) ||
		!gmt_ring_is_initialized(ring))
		return;
	if (drain->slots[index].thread != ring->thread) {
		drain->slots[index].thread = ring->thread;
		drain->slots[index].is_thread_written = false;
		memset(drain->slots[index].dropped, 0, sizeof(drain->slots[index].dropped));
	}

	/* Read before the ring is emptied: if true, the thread adds no further event. */
	bool may_free = gmt_recording_memory_may_free_ring(memory, index);

	const uint64_t least = all || state == GMT_SLOT_LEFT ? 1 : GMT_RING_ROWS_MAX;

	for (uint64_t left = gmt_ring_event_count(ring), count; left >= least;
		left -= count < left ? count : left) {
		count = gmt_ring_peek(ring, drain->batch, GMT_RING_ROWS_MAX);
		if (!drain->slots[index].is_thread_written) {
			drain->slots[index].is_thread_written = true;
			gmt_stream_thread(stream, ring);
		}
		if (!gmt_stream_events(stream, index, ring, drain->batch, (uint32_t)count))
			return;
		gmt_ring_consume(ring, (uint32_t)count);
		gmt_stream_events_taken(stream);
	}

	report_drops(drain, stream, index, ring);
	if (may_free && !gmt_ring_event_count(ring))
		gmt_recording_memory_free_ring(memory, index);
}

void gmt_drain_rings(struct gmt_drain *drain, struct gmt_recording_state *recording,
	struct gmt_stream *stream, bool all)
{
	uint32_t used =
		atomic_load_explicit(&recording->memory->header->slots_used, memory_order_acquire);

	for (uint32_t index = 0; index < used; index++)
		drain_slot(drain, recording, stream, index, all);
	/* Room for twice the new stacks that a burst may bring before the next round. */
	if (gmt_recording_memory_grow_depot(recording->memory,
			gmt_depot_used_bytes(recording->depot) + (2 << 20)))
		gmt_depot_set_ready(recording->depot,
			atomic_load_explicit(&recording->memory->depot_ready_bytes, memory_order_relaxed));
}

/* SPDX-License-Identifier: MIT */
#include "source/recovery_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/pages.h"

/*
 * Finds out how far the rings were emptied into the journal, and which records the journal defines.
 */
static void scan_journal(struct gmt_recovery *recovery)
{
	struct gmt_journal_position position;
	struct gmt_journal_entry entry;
	struct gmt_block block;
	struct gmt_error error;
	const uint8_t *bytes;

	recovery->journal = gmt_shared_recording_journal(recovery->shared_recording,
		&recovery->journal_bytes, &recovery->base_stamp);
	for (size_t at = 0; gmt_recovery_next_entry(recovery, &at, &entry, &bytes);) {
		if (entry.kind != GMT_JOURNAL_POSITION || entry.length != sizeof(position))
			continue;
		memcpy(&position, bytes, sizeof(position));
		if (position.slot < GMT_SHARED_RECORDING_RINGS)
			recovery->positions[position.slot] =
				(struct gmt_recovery_position){ position.thread, position.consumed };
	}
	recovery->result.has_gap = recovery->base_stamp > recovery->sync_stamp;
	recovery->blocks_to_skip = recovery->result.has_gap ? 0 : recovery->blocks_since_sync;
	for (size_t at = 0;
		recovery->result.has_gap && gmt_recovery_next_entry(recovery, &at, &entry, &bytes);)
		if (entry.kind == GMT_JOURNAL_BLOCK &&
			gmt_block_read(bytes, entry.length, &block) == entry.length)
			gmt_recovery_note_block(recovery, &block, &error);
	/* The file already contains the whole journal. */
	if (recovery->base_stamp < recovery->sync_stamp)
		recovery->journal_bytes = 0;
}

/* Copies one block of the journal. Returns false at the end. */
static bool make_from_journal(struct gmt_recovery *recovery)
{
	struct gmt_journal_entry entry;
	struct gmt_block block;
	struct gmt_error error;
	const uint8_t *bytes;

	while (gmt_recovery_next_entry(recovery, &recovery->journal_at, &entry, &bytes)) {
		if (entry.kind != GMT_JOURNAL_BLOCK)
			continue;
		if (recovery->blocks_to_skip) {
			recovery->blocks_to_skip--;
			continue;
		}
		if (gmt_block_read(bytes, entry.length, &block) != entry.length ||
			!gmt_recovery_is_readable(recovery, &block)) {
			recovery->damaged_blocks++;
			continue;
		}
		gmt_recovery_add_bytes(recovery, bytes, entry.length);
		if (block.kind == GMT_RECORD_EVENT)
			recovery->result.events += block.rows;
		gmt_recovery_note_block(recovery, &block, &error);
		return true;
	}
	return false;
}

/* New ids continue after all known ids. */
static void begin_rings(struct gmt_recovery *recovery)
{
	recovery->definitions.last_stack = recovery->last_ids[GMT_RECORD_STACK];
	recovery->definitions.last_frames = recovery->last_ids[GMT_RECORD_FRAMES];
	recovery->definitions.last_frame = recovery->last_ids[GMT_RECORD_FRAME];
	recovery->definitions.last_code = recovery->last_ids[GMT_RECORD_CODE];
	recovery->definitions.last_name = recovery->last_ids[GMT_RECORD_NAME];
	recovery->events_left = gmt_shared_recording_allocated_bytes(recovery->shared_recording) /
		sizeof(struct gmt_ring_event);
}

static void make_thread(struct gmt_recovery *recovery, const struct gmt_ring *ring)
{
	struct gmt_thread row = {
		.id = ring->thread,
		.tid = ring->tid,
		.name = { ring->thread_name,
			(uint32_t)strnlen(ring->thread_name, sizeof(ring->thread_name)) },
	};

	if (!gmt_recovery_is_defined(recovery, GMT_RECORD_THREAD, ring->thread))
		gmt_recovery_add_rows(recovery, GMT_RECORD_THREAD, &row, 1);
}

static void make_drop(struct gmt_recovery *recovery, uint32_t thread, const char *reason,
	uint64_t count)
{
	struct gmt_drop row = {
		.thread = thread, .reason = { reason, (uint32_t)strlen(reason) }, .count = count
	};

	if (count)
		gmt_recovery_add_rows(recovery, GMT_RECORD_DROP, &row, 1);
}

/*
 * Also writes drops that are already in the file: for each thread and reason, the last record
 * counts.
 */
static void make_drops(struct gmt_recovery *recovery, const struct gmt_ring *ring)
{
	for (int drop = 0; drop < GMT_DROP_COUNT; drop++) {
		uint64_t count = atomic_load(&ring->dropped[drop]);

		if (!count && !recovery->result.has_gap)
			continue;
		make_thread(recovery, ring);
		make_drop(recovery, ring->thread, gmt_drop_reason_text((enum gmt_drop_reason)drop), count);
	}
}

static void make_batch(struct gmt_recovery *recovery, const struct gmt_ring *ring, uint32_t count)
{
	make_thread(recovery, ring);
	for (uint32_t i = 0; i < count; i++) {
		if (recovery->batch[i].stamp > recovery->last_stamp)
			recovery->last_stamp = recovery->batch[i].stamp;
		if (recovery->batch[i].kind < GMT_RING_MARK)
			gmt_recovery_add_api(recovery, recovery->batch[i].api);
	}
	gmt_ring_rows_fill(&recovery->rows, &recovery->definitions, recovery->batch, count,
		ring->thread);
	gmt_definitions_flush(&recovery->definitions, gmt_recovery_add_rows, recovery);
	gmt_ring_rows_write(&recovery->rows, gmt_recovery_add_rows, recovery);
	recovery->events += recovery->rows.event_count;
	recovery->result.events += recovery->rows.event_count;
}

/*
 * Reads the head of the slot's ring. According to the journal, more of the ring may have been taken
 * than the ring itself shows.
 */
static bool begin_ring(struct gmt_recovery *recovery)
{
	const struct gmt_recovery_position *position = &recovery->positions[recovery->slot];
	struct gmt_ring *ring = &recovery->ring;

	if (!gmt_shared_recording_ring(recovery->shared_recording, recovery->slot, ring))
		return false;

	uint64_t published = atomic_load(&ring->published), consumed = atomic_load(&ring->consumed);
	bool is_further = position->thread == ring->thread && position->consumed > consumed &&
		position->consumed <= published;

	recovery->next_event = is_further ? position->consumed : consumed;
	recovery->slot_begun = true;
	return true;
}

/* Makes at most one batch from the current ring. Returns false if there are no more rings. */
static bool make_from_rings(struct gmt_recovery *recovery)
{
	const struct gmt_shared_recording_header *header =
		gmt_shared_recording_header(recovery->shared_recording);
	const struct gmt_ring *ring = &recovery->ring;

	if (recovery->slot >= header->slots || recovery->slot >= atomic_load(&header->slots_used))
		return false;
	if (!recovery->slot_begun && !begin_ring(recovery)) {
		recovery->slot++;
		return true;
	}

	uint64_t left = atomic_load(&ring->published) - recovery->next_event;
	uint32_t count = left < GMT_RING_ROWS_MAX ? (uint32_t)left : GMT_RING_ROWS_MAX;
	if (count && count <= recovery->events_left &&
		gmt_shared_recording_events(recovery->shared_recording, recovery->slot, ring,
			recovery->next_event, count, recovery->batch)) {
		make_batch(recovery, ring, count);
		recovery->events_left -= count;
		recovery->next_event += count;
		return true;
	}
	make_drops(recovery, ring);
	recovery->slot_begun = false;
	recovery->slot++;
	return true;
}

static void make_losses(struct gmt_recovery *recovery)
{
	static const char *const reasons[] = {
#define GMT_LOSS(name, reason) reason,
#include "format/losses.def"
#undef GMT_LOSS
	};
	const struct gmt_shared_recording_header *header =
		gmt_shared_recording_header(recovery->shared_recording);

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i])
			make_drop(recovery, 0, reasons[i], atomic_load(&header->losses[i]));
}

static void make_note(struct gmt_recovery *recovery, const char *text)
{
	struct gmt_note row = { .text = { text, (uint32_t)strlen(text) } };

	gmt_recovery_add_rows(recovery, GMT_RECORD_NOTE, &row, 1);
}

static void make_end(struct gmt_recovery *recovery)
{
	const struct gmt_shared_recording_header *header =
		gmt_shared_recording_header(recovery->shared_recording);
	struct gmt_end row = { .stamp = recovery->last_stamp, .events = recovery->events };
	char text[256];
	int why = (int)atomic_load(&header->write_errno);

	int length =
		snprintf(text, sizeof(text), "the process %" PRIu32 GMT_SOURCE_KILLED_NOTE "%s%s%s",
			header->owner.pid, why ? ", and its file could not be written (" : "",
			why ? strerror(why) : "", why ? ")" : "");

	if (recovery->result.events && length > 0 && (size_t)length < sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length,
			"; its last %" PRIu64 " events come from the recorder's memory",
			recovery->result.events);
	make_note(recovery, text);
	if (recovery->damaged_blocks) {
		snprintf(text, sizeof(text),
			"the recorder's memory was overwritten: %" PRIu64 " of its blocks cannot be read",
			recovery->damaged_blocks);
		make_note(recovery, text);
	}
	if (recovery->result.has_gap)
		make_note(recovery,
			"an earlier part of the file was lost, with an unknown number of events");
	else
		gmt_recovery_add_rows(recovery, GMT_RECORD_END, &row, 1);
}

/* Makes zero or more blocks. Returns false at the end. */
static bool make_blocks(struct gmt_recovery *recovery)
{
	bool is_over = true;

	switch (recovery->phase) {
	case GMT_RECOVER_BEGINNING:
		recovery->result.was_complete = recovery->has_end;
		if (recovery->has_end) {
			recovery->phase = GMT_RECOVER_DONE;
			return false;
		}
		scan_journal(recovery);
		gmt_recovery_add_preamble(recovery);
		break;
	case GMT_RECOVER_LOST:
		is_over = !recovery->result.has_gap || !gmt_recovery_add_lost(recovery);
		break;
	case GMT_RECOVER_JOURNAL:
		is_over = !make_from_journal(recovery);
		if (is_over)
			begin_rings(recovery);
		break;
	case GMT_RECOVER_RINGS:
		is_over = !make_from_rings(recovery);
		break;
	case GMT_RECOVER_LOSSES:
		make_losses(recovery);
		break;
	case GMT_RECOVER_END:
		make_end(recovery);
		break;
	case GMT_RECOVER_DONE:
		return false;
	}
	recovery->phase += is_over;
	return true;
}

enum gmt_status gmt_recovery_next(struct gmt_recovery *recovery, struct gmt_block *ret_block,
	struct gmt_error *error)
{
	while (recovery->returned_bytes == recovery->queue.count && !recovery->no_memory) {
		recovery->returned_bytes = recovery->queue.count = 0;
		if (!make_blocks(recovery))
			return GMT_END;
	}
	if (recovery->no_memory)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	size_t length = gmt_block_read(recovery->queue.items + recovery->returned_bytes,
		recovery->queue.count - recovery->returned_bytes, ret_block);
	recovery->returned_bytes += length;
	return length ? GMT_OK : GMT_END;
}

struct gmt_source_recovered gmt_recovery_result(const struct gmt_recovery *recovery)
{
	return recovery->result;
}

struct gmt_recovery *gmt_recovery_new(struct gmt_shared_recording *shared_recording)
{
	struct gmt_recovery *recovery = gmt_pages_grow(NULL, 0, sizeof(*recovery));

	if (!recovery)
		return NULL;
	recovery->shared_recording = shared_recording;
	recovery->definitions.find = gmt_recovery_find_entry;
	recovery->definitions.depot = recovery;
	return recovery;
}

void gmt_recovery_free(struct gmt_recovery *recovery)
{
	if (!recovery)
		return;
	gmt_map_fini(&recovery->ids);
	gmt_map_fini(&recovery->api_ids);
	gmt_vec_fini(&recovery->apis);
	gmt_vec_fini(&recovery->queue);
	gmt_decoder_fini(&recovery->decoder);
	gmt_decoder_fini(&recovery->preamble_decoder);
	gmt_encoder_fini(&recovery->encoder);
	gmt_definitions_fini(&recovery->definitions);
	gmt_pages_free(recovery, sizeof(*recovery));
}

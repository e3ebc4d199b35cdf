/* SPDX-License-Identifier: MIT */
#include "source/recovery_state.h"

#include <string.h>

static uint64_t id_key(uint32_t kind, uint32_t id)
{
	return (uint64_t)kind << 32 | id;
}

bool gmt_recovery_is_defined(const struct gmt_recovery *recovery, uint32_t kind, uint32_t id)
{
	uint64_t unused;

	return gmt_map_find(&recovery->ids, id_key(kind, id), &unused);
}

/* Returns whether rows of this kind begin with an id by which other rows refer to them. */
static bool has_ids(uint32_t kind)
{
	return kind == GMT_RECORD_API || kind == GMT_RECORD_THREAD || kind == GMT_RECORD_CODE ||
		kind == GMT_RECORD_FRAME || kind == GMT_RECORD_FRAMES || kind == GMT_RECORD_STACK ||
		kind == GMT_RECORD_NAME;
}

/* Notes the id that the row defines, or the stamp and event count of a sync record. */
static void note_row(struct gmt_recovery *recovery, uint32_t kind, const void *row)
{
	if (has_ids(kind)) {
		uint32_t id = *(const uint32_t *)row;

		if (!gmt_map_put(&recovery->ids, id_key(kind, id), 0))
			recovery->no_memory = true;
		if (id > recovery->last_ids[kind])
			recovery->last_ids[kind] = id;
	} else if (kind == GMT_RECORD_SYNC) {
		const struct gmt_sync *sync = row;

		recovery->sync_stamp = recovery->last_stamp = sync->stamp;
		recovery->events = sync->events;
	}
}

enum gmt_status gmt_recovery_note_block(struct gmt_recovery *recovery,
	const struct gmt_block *block, struct gmt_error *error)
{
	const struct gmt_record_info *record = gmt_record_info(block->kind);
	const void *rows;

	recovery->has_process |= block->kind == GMT_RECORD_PROCESS;
	recovery->has_end |= block->kind == GMT_RECORD_END;
	if (block->kind == GMT_RECORD_EVENT)
		recovery->events += block->rows;
	recovery->blocks_since_sync =
		block->kind == GMT_RECORD_SYNC ? 0 : recovery->blocks_since_sync + 1;
	/* If a block cannot be decoded, the reader of the file reports it. */
	if ((has_ids(block->kind) || block->kind == GMT_RECORD_SYNC) &&
		!gmt_decode_rows(&recovery->decoder, block, &rows, error))
		for (uint32_t i = 0; i < block->rows; i++)
			note_row(recovery, block->kind, (const char *)rows + (size_t)i * record->row_bytes);
	return recovery->no_memory ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}

bool gmt_recovery_is_readable(struct gmt_recovery *recovery, const struct gmt_block *block)
{
	struct gmt_error error;
	const void *rows;

	return !gmt_record_info(block->kind) ||
		!gmt_decode_rows(&recovery->decoder, block, &rows, &error);
}

void gmt_recovery_add_bytes(struct gmt_recovery *recovery, const void *bytes, size_t length)
{
	if (!gmt_vec_reserve(&recovery->queue, length)) {
		recovery->no_memory = true;
		return;
	}
	memcpy(recovery->queue.items + recovery->queue.count, bytes, length);
	recovery->queue.count += length;
}

void gmt_recovery_add_rows(void *context, uint32_t kind, const void *rows, uint32_t count)
{
	struct gmt_recovery *recovery = context;
	const struct gmt_record_info *record = gmt_record_info(kind);
	struct gmt_error error;

	if (gmt_encode_rows(&recovery->encoder, kind, rows, count, &error)) {
		recovery->no_memory |= error.status == GMT_NO_MEMORY;
		return;
	}
	gmt_recovery_add_bytes(recovery, recovery->encoder.block.items, recovery->encoder.block.count);
	for (uint32_t i = 0; has_ids(kind) && i < count; i++)
		note_row(recovery, kind, (const char *)rows + (size_t)i * record->row_bytes);
}

struct gmt_depot_entry *gmt_recovery_find_entry(void *context, uint32_t id,
	enum gmt_depot_kind kind)
{
	struct gmt_recovery *recovery = context;
	struct gmt_depot_entry *entry =
		gmt_shared_recording_entry(recovery->shared_recording, id, kind);

	if (entry && !entry->reserved[0]) {
		entry->reserved[0] = 1;
		if (!gmt_recovery_is_defined(recovery, gmt_recovery_record_kind(kind),
				atomic_load(&entry->file_id)))
			atomic_store(&entry->file_id, 0);
	}
	return entry;
}

bool gmt_recovery_next_entry(const struct gmt_recovery *recovery, size_t *at,
	struct gmt_journal_entry *ret_entry, const uint8_t **ret_bytes)
{
	size_t left = recovery->journal_bytes - *at;

	if (left < sizeof(*ret_entry))
		return false;
	memcpy(ret_entry, recovery->journal + *at, sizeof(*ret_entry));
	left -= sizeof(*ret_entry);
	*ret_bytes = recovery->journal + *at + sizeof(*ret_entry);

	uint64_t padded = ((uint64_t)ret_entry->length + 7) & ~(uint64_t)7;
	/* A valid entry is never empty. */
	if (!padded || padded > left)
		return false;
	*at += sizeof(*ret_entry) + padded;
	return true;
}

uint32_t gmt_recovery_record_kind(enum gmt_depot_kind kind)
{
	static const uint32_t records[] = {
		[GMT_DEPOT_STACK] = GMT_RECORD_STACK,
		[GMT_DEPOT_FRAMES] = GMT_RECORD_FRAMES,
		[GMT_DEPOT_FRAME] = GMT_RECORD_FRAME,
		[GMT_DEPOT_CODE] = GMT_RECORD_CODE,
		[GMT_DEPOT_NAME] = GMT_RECORD_NAME,
	};

	return kind < sizeof(records) / sizeof(*records) ? records[kind] : 0;
}

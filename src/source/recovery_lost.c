/* SPDX-License-Identifier: MIT */
#include "source/recovery_parts.h"

#include <string.h>

/*
 * For a file that lacks more than what came after its last sync point, because it was cut, or is gone: what the
 * rest refers to is in the recorder's memory still.
 */

uint32_t gmt_recovery_record_of(enum gmt_depot_kind kind)
{
	static const uint32_t records[] = {
		[GMT_DEPOT_STACK] = GMT_RECORD_STACK, [GMT_DEPOT_FRAMES] = GMT_RECORD_FRAMES,
		[GMT_DEPOT_FRAME] = GMT_RECORD_FRAME, [GMT_DEPOT_CODE] = GMT_RECORD_CODE, [GMT_DEPOT_NAME] = GMT_RECORD_NAME,
	};

	return kind < sizeof(records) / sizeof(*records) ? records[kind] : 0;
}

static void read_apis(struct gmt_recovery *recovery)
{
	size_t bytes, length;
	const uint8_t *preamble = gmt_shared_recording_preamble(recovery->shared_recording, &bytes);
	struct gmt_block block;
	struct gmt_error error;
	const void *rows;

	if (recovery->apis_are_read)
		return;
	recovery->apis_are_read = true;
	for (size_t at = 0; at < bytes && (length = gmt_block_read(preamble + at, bytes - at, &block)) != 0; at += length) {
		if (block.kind != GMT_RECORD_API || gmt_decode_rows(&recovery->preamble_decoder, &block, &rows, &error))
			continue;
		for (uint32_t i = 0; i < block.rows; i++) {
			const struct gmt_api *row = &((const struct gmt_api *)rows)[i];
			struct gmt_api *api = gmt_vec_push(&recovery->apis);
			uint64_t before;

			if (!api || (!gmt_map_find(&recovery->api_ids, row->id, &before) &&
				!gmt_map_put(&recovery->api_ids, row->id, recovery->apis.count - 1))) {
				recovery->no_memory = true;
				return;
			}
			*api = *row;
		}
	}
}

void gmt_recovery_add_api(struct gmt_recovery *recovery, uint32_t id)
{
	uint64_t index;

	if (!id || gmt_recovery_is_defined(recovery, GMT_RECORD_API, id))
		return;
	read_apis(recovery);
	if (gmt_map_find(&recovery->api_ids, id, &index))
		gmt_recovery_add_rows(recovery, GMT_RECORD_API, &recovery->apis.items[index], 1);
}

/* Whether the journal is going to give the file its first record. */
static bool journal_has_process(struct gmt_recovery *recovery)
{
	struct gmt_pending_definitions_entry entry;
	struct gmt_block block;
	const uint8_t *bytes;

	for (size_t at = 0; gmt_recovery_next_entry(recovery, &at, &entry, &bytes);)
		if (entry.kind == GMT_PENDING_DEFINITIONS_BLOCK && gmt_block_read(bytes, entry.length, &block) == entry.length &&
			block.kind == GMT_RECORD_PROCESS && gmt_recovery_is_readable(recovery, &block))
			return true;
	return false;
}

/* For one that was killed before its writer wrote a word. */
static void add_process(struct gmt_recovery *recovery)
{
	const struct gmt_shared_recording_owner *owner = gmt_shared_recording_owner(recovery->shared_recording);
	struct gmt_process row = {
		.pid = owner->pid,
		.rank = -1,
		.local_rank = -1,
		.start_time_ns = owner->start_time_ns,
		.start_stamp = owner->start_stamp,
		.host = { owner->host, (uint32_t)strlen(owner->host) },
	};

	gmt_recovery_add_rows(recovery, GMT_RECORD_PROCESS, &row, 1);
	recovery->has_process = true;
}

void gmt_recovery_add_beginning(struct gmt_recovery *recovery)
{
	size_t bytes, length;
	const uint8_t *preamble = gmt_shared_recording_preamble(recovery->shared_recording, &bytes);
	struct gmt_block block;

	if (!recovery->has_process && !journal_has_process(recovery)) {
		for (size_t at = 0; at < bytes && (length = gmt_block_read(preamble + at, bytes - at, &block)) != 0; at += length)
			/* Events stand in the journal and in rings: what they come to would be counted as something else. */
			if (block.kind == GMT_RECORD_EVENT || !gmt_recovery_is_readable(recovery, &block)) {
				recovery->damaged_blocks++;
			} else if (block.kind != GMT_RECORD_API) {
				gmt_recovery_add_bytes(recovery, preamble + at, length);
				recovery->has_process |= block.kind == GMT_RECORD_PROCESS;
			}
		if (!recovery->has_process)
			add_process(recovery);
	}
	if (!recovery->result.is_gap)
		return;
	read_apis(recovery);
	for (size_t i = 0; i < recovery->apis.count; i++)
		gmt_recovery_add_api(recovery, recovery->apis.items[i].id);
}

static void define_as(struct gmt_recovery *recovery, struct gmt_depot_entry *entry, uint32_t id)
{
	struct gmt_definitions *definitions = &recovery->definitions;
	uint32_t file_id = atomic_load(&entry->file_id);

	/* Given anew: the same one. */
	atomic_store(&entry->file_id, 0);
	entry->reserved[0] = 1;
	switch (entry->kind) {
	case GMT_DEPOT_STACK:
		definitions->last_stack = file_id - 1;
		gmt_definitions_stack(definitions, id);
		break;
	case GMT_DEPOT_FRAMES:
		definitions->last_frames = file_id - 1;
		gmt_definitions_frames(definitions, id);
		break;
	case GMT_DEPOT_FRAME:
		definitions->last_frame = file_id - 1;
		gmt_definitions_frame(definitions, id);
		break;
	case GMT_DEPOT_CODE:
		definitions->last_code = file_id - 1;
		gmt_definitions_code(definitions, id);
		break;
	case GMT_DEPOT_NAME:
		definitions->last_name = file_id - 1;
		gmt_definitions_name(definitions, id);
		break;
	}
}

/*
 * What the lost part of the file had defined: the depot still has it, with the ids of then. What is made up of
 * other entries comes behind them in the depot. Some at a time; false at the end.
 */
bool gmt_recovery_add_lost(struct gmt_recovery *recovery)
{
	enum { AT_ONCE = 256 };
	struct gmt_depot_entry *entry;
	int count = 0;

	while (count < AT_ONCE && (recovery->entry = gmt_shared_recording_next_entry(recovery->shared_recording, recovery->entry, &entry)) != 0) {
		uint32_t kind = gmt_recovery_record_of(entry->kind), file_id = atomic_load(&entry->file_id);

		if (kind && file_id && !entry->reserved[0] && !gmt_recovery_is_defined(recovery, kind, file_id)) {
			define_as(recovery, entry, recovery->entry);
			count++;
		}
		recovery->entry += (uint32_t)((sizeof(*entry) + entry->length + GMT_DEPOT_ID_BYTES - 1) / GMT_DEPOT_ID_BYTES);
	}
	gmt_definitions_flush(&recovery->definitions, gmt_recovery_add_rows, recovery);
	return count > 0;
}

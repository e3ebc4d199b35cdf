/* SPDX-License-Identifier: MIT */
#include "source/recovery_state.h"

#include <string.h>

/*
 * Recovers a recording whose file was cut or removed, so that even synced parts are missing. The
 * recorder's memory still has the definitions that the rest of the events need.
 */

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
	for (size_t at = 0;
		at < bytes && (length = gmt_block_read(preamble + at, bytes - at, &block)) != 0;
		at += length) {
		if (block.kind != GMT_RECORD_API ||
			gmt_decode_rows(&recovery->preamble_decoder, &block, &rows, &error))
			continue;
		for (uint32_t i = 0; i < block.rows; i++) {
			const struct gmt_api *row = &((const struct gmt_api *)rows)[i];
			struct gmt_api *api = gmt_vec_push(&recovery->apis);
			uint64_t before;

			if (!api ||
				(!gmt_map_find(&recovery->api_ids, row->id, &before) &&
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

/* Returns whether the journal contains the file's first record. */
static bool journal_has_process(struct gmt_recovery *recovery)
{
	struct gmt_journal_entry entry;
	struct gmt_block block;
	const uint8_t *bytes;

	for (size_t at = 0; gmt_recovery_next_entry(recovery, &at, &entry, &bytes);)
		if (entry.kind == GMT_JOURNAL_BLOCK &&
			gmt_block_read(bytes, entry.length, &block) == entry.length &&
			block.kind == GMT_RECORD_PROCESS && gmt_recovery_is_readable(recovery, &block))
			return true;
	return false;
}

/* For a preamble that cannot be read. */
static void add_process(struct gmt_recovery *recovery)
{
	const struct gmt_shared_recording_owner *owner =
		gmt_shared_recording_owner(recovery->shared_recording);
	struct gmt_process row = {
		.pid = owner->pid,
		.rank = -1,
		.local_rank = -1,
		.start_time_ns = owner->start_time_ns,
		.start_stamp = owner->start_stamp,
		.host = { owner->host, (uint32_t)strlen(owner->host) },
		.recording = { owner->recording, (uint32_t)strlen(owner->recording) },
		.run = { owner->run, (uint32_t)strlen(owner->run) },
	};

	gmt_recovery_add_rows(recovery, GMT_RECORD_PROCESS, &row, 1);
	recovery->has_process = true;
}

void gmt_recovery_add_preamble(struct gmt_recovery *recovery)
{
	size_t bytes, length;
	const uint8_t *preamble = gmt_shared_recording_preamble(recovery->shared_recording, &bytes);
	struct gmt_block block;

	if (!recovery->has_process && !journal_has_process(recovery)) {
		for (size_t at = 0;
			at < bytes && (length = gmt_block_read(preamble + at, bytes - at, &block)) != 0;
			at += length)
			/*
			 * The preamble has no events; they are in the journal and in the rings. So an event
			 * block here is damage.
			 */
			if (block.kind == GMT_RECORD_EVENT || !gmt_recovery_is_readable(recovery, &block)) {
				recovery->damaged_blocks++;
			} else if (block.kind != GMT_RECORD_API) {
				gmt_recovery_add_bytes(recovery, preamble + at, length);
				recovery->has_process |= block.kind == GMT_RECORD_PROCESS;
			}
		if (!recovery->has_process)
			add_process(recovery);
	}
	if (!recovery->result.has_gap)
		return;
	read_apis(recovery);
	for (size_t i = 0; i < recovery->apis.count; i++)
		gmt_recovery_add_api(recovery, recovery->apis.items[i].id);
}

static void define_as(struct gmt_recovery *recovery, struct gmt_depot_entry *entry, uint32_t id)
{
	struct gmt_definitions *definitions = &recovery->definitions;
	uint32_t file_id = atomic_load(&entry->file_id);

	/* The entry gets the same id again. */
	atomic_store(&entry->file_id, 0);
	entry->reserved[0] = 1;
	switch (entry->kind) {
	case GMT_DEPOT_STACK:
		definitions->last_stack = file_id - 1;
		gmt_definitions_stack_id(definitions, id);
		break;
	case GMT_DEPOT_FRAMES:
		definitions->last_frames = file_id - 1;
		gmt_definitions_frames_id(definitions, id);
		break;
	case GMT_DEPOT_FRAME:
		definitions->last_frame = file_id - 1;
		gmt_definitions_frame_id(definitions, id);
		break;
	case GMT_DEPOT_CODE:
		definitions->last_code = file_id - 1;
		gmt_definitions_code_id(definitions, id);
		break;
	case GMT_DEPOT_NAME:
		definitions->last_name = file_id - 1;
		gmt_definitions_name_id(definitions, id);
		break;
	}
}

/*
 * Adds the definitions of the file's lost part: the depot still has them, with their old ids. In
 * the depot, an entry comes after the entries that it consists of. Adds some at a time; returns
 * false at the end.
 */
bool gmt_recovery_add_lost(struct gmt_recovery *recovery)
{
	enum { BATCH_ROWS = 256 };
	struct gmt_depot_entry *entry;
	int count = 0;

	while (count < BATCH_ROWS &&
		(recovery->depot_id = gmt_shared_recording_next_entry(recovery->shared_recording,
			 recovery->depot_id, &entry)) != 0) {
		uint32_t kind = gmt_recovery_record_kind(entry->kind),
				 file_id = atomic_load(&entry->file_id);

		if (kind && file_id && !entry->reserved[0] &&
			!gmt_recovery_is_defined(recovery, kind, file_id)) {
			define_as(recovery, entry, recovery->depot_id);
			count++;
		}
		recovery->depot_id += (uint32_t)((sizeof(*entry) + entry->length + GMT_DEPOT_ID_BYTES - 1) /
			GMT_DEPOT_ID_BYTES);
	}
	gmt_definitions_flush(&recovery->definitions, gmt_recovery_add_rows, recovery);
	return count > 0;
}

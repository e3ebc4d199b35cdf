/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_RECOVERY_PARTS_H
#define GMT_SOURCE_RECOVERY_PARTS_H

/* What recovery.c and recovery_lost.c share; for them alone. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "format/encoding/decode.h"
#include "format/encoding/encode.h"
#include "source/recovery.h"
#include "shared_memory/ring_rows.h"

/* What is made next. */
enum gmt_recovery_phase {
	GMT_RECOVER_BEGINNING, GMT_RECOVER_LOST, GMT_RECOVER_JOURNAL, GMT_RECOVER_RINGS, GMT_RECOVER_LOSSES,
	GMT_RECOVER_END, GMT_RECOVER_DONE,
};

struct gmt_recovery_position {
	uint32_t thread;
	uint64_t consumed;
};

struct gmt_recovery {
	struct gmt_shared_recording *shared_recording;

	/* What the file has, and what was added to it. */
	struct gmt_map ids; /* record kind << 32 | id: it is defined */
	uint32_t last_ids[GMT_RECORD_UNHOOKED + 1]; /* by kind: the largest */
	uint64_t sync_stamp;  /* of its last sync record; 0: it has none */
	uint64_t blocks_since_sync;
	uint64_t events;      /* as sync and end records count them */
	uint64_t last_stamp;
	bool has_process, has_end;

	/* What the leftover has. */
	const uint8_t *journal;
	size_t journal_bytes;
	uint64_t base_stamp;
	struct gmt_recovery_position positions[GMT_SHARED_RECORDING_RINGS];
	GMT_VEC(struct gmt_api) apis; /* of the preamble */
	struct gmt_map api_ids; /* id to the first of that id in apis */
	bool apis_are_read;

	enum gmt_recovery_phase phase;
	size_t at;        /* in the preamble or the journal */
	uint64_t to_skip; /* blocks of the journal that the file has */
	uint32_t entry;   /* of the depot, for GMT_RECOVER_LOST */
	uint32_t slot;
	struct gmt_ring ring; /* head of that slot's ring, once slot_begun: read once, for the file may change meanwhile */
	uint64_t next_event; /* of that ring */
	bool slot_begun;
	uint64_t events_left; /* more than the disk has bytes for cannot be */
	uint64_t damaged_blocks; /* of the preamble and the journal: not handed out */
	struct gmt_source_recovered result;

	GMT_VEC(uint8_t) made; /* blocks behind each other, to be handed out */
	size_t handed;
	bool no_memory;
	struct gmt_decoder decoder, preamble_decoder;
	struct gmt_encoder encoder;
	struct gmt_definitions definitions;
	struct gmt_ring_rows rows;
	struct gmt_ring_event batch[GMT_RING_ROWS_MAX];
};

/* Whether the file, or what was added to it, has the record of that kind and id. */
bool gmt_recovery_is_defined(const struct gmt_recovery *recovery, uint32_t kind, uint32_t id);

/*
 * Whether it decodes, or is of a kind that this version does not know. A recorder makes no other; the reader would
 * take one for the end of what is whole, and lose all that comes behind it. Ends what the decoder gave before.
 */
bool gmt_recovery_is_readable(struct gmt_recovery *recovery, const struct gmt_block *block);

/* Adds whole blocks. */
void gmt_recovery_add_bytes(struct gmt_recovery *recovery, const void *bytes, size_t length);

/* Adds a block of rows. `context` is the recovery. */
void gmt_recovery_add_rows(void *context, uint32_t kind, const void *rows, uint32_t count);

/* The kind of record that an entry of the depot becomes; 0: none. */
uint32_t gmt_recovery_record_of(enum gmt_depot_kind kind);

/* The next entry of the journal, from *at on, which moves behind it; false at its end. */
bool gmt_recovery_next_entry(const struct gmt_recovery *recovery, size_t *at, struct gmt_pending_definitions_entry *ret_entry,
	const uint8_t **ret_bytes);

/* Adds the blocks of the recording's beginning, to a file that lacks it. */
void gmt_recovery_add_beginning(struct gmt_recovery *recovery);

/* Adds some of what the lost part of a file had defined; false at the end. */
bool gmt_recovery_add_lost(struct gmt_recovery *recovery);

/* Adds the name of a function that events name, where it is not there yet. */
void gmt_recovery_add_api(struct gmt_recovery *recovery, uint32_t id);

#endif

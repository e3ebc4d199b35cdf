/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_TABLES_BLOCK_LIST_H
#define GMT_LIBRARY_TABLES_BLOCK_LIST_H

/*
 * All blocks of a recording, and all changes of each account's memory, collected while the events
 * are replayed. Both are stored like events (reader/load/events.h): about 20 bytes each, and in a
 * temporary file if there are many. gmt_listed_block and gmt_listed_change read one of them.
 */

#include "reader/load/events.h"
#include "reader/replay/replay.h"

/* A block from its allocation to its end. */
struct gmt_listed_block {
	uint64_t address, size_bytes;
	uint64_t begin_stamp;
	uint64_t end_stamp; /* UINT64_MAX: the block lives */
	uint64_t free_trace_plus_1; /* trace that freed it, plus 1; 0: unknown */
	uint32_t site;
	int16_t device;
	uint8_t layer, space;
};

/* The memory of an account after a change. */
struct gmt_listed_change {
	uint64_t stamp, live_bytes, live_blocks;
	uint32_t account; /* index in the accounting's accounts */
	int16_t device;
	uint8_t layer;
};

struct gmt_block_list {
	struct gmt_replay_observer observer; /* registered with the replay */
	struct gmt_event_shapes shapes;
	/* Packed; read them by gmt_listed_block and gmt_listed_change. */
	struct gmt_events blocks;  /* in order of their end */
	struct gmt_events changes; /* in order of time */
	uint64_t live_blocks; /* blocks that live after the last event; at the end of `blocks` */
	/* for blocks of the program's heaps: from the number to the address */
	struct gmt_map heap_addresses;
	const struct gmt_recording *loaded;
	uint64_t event_address; /* address that the current event names */
	bool is_in_compacted_prefix;       /* the replay is still in the compacted prefix */
};

/* Prepares the list (zeroed), which must not move. Borrows the recording. */
void gmt_block_list_init(struct gmt_block_list *ret_list, const struct gmt_recording *loaded);

void gmt_block_list_fini(struct gmt_block_list *list);

/* Returns block number `index`. `reader` must be open for all fields of list->blocks. */
struct gmt_listed_block gmt_listed_block(struct gmt_events_reader *reader, size_t index);

/* Returns change number `index`. `reader` must be open for all fields of list->changes. */
struct gmt_listed_change gmt_listed_change(struct gmt_events_reader *reader, size_t index);

#endif

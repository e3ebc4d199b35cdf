/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_BLOCK_LIST_H
#define GMT_LIBRARY_BLOCK_LIST_H

/*
 * All blocks of a recording, and all changes of what each account holds, collected while the events
 * are replayed. Both are packed like events (reader/load/events.h): about 20 bytes each, and in a
 * temporary file if they are many.
 *
 * A block as an event: `stamp` its end (UINT64_MAX: it lives), `address`, `size_bytes`, more[0] the
 * stamp of its allocation, more[1] the trace that ended it plus 1 (0: unknown), `trace` its site.
 *
 * A change as an event: `stamp`, `address` the live bytes after it, `size_bytes` the live blocks,
 * `trace` the index of the account.
 */

#include "reader/load/events.h"
#include "reader/replay/replay.h"

struct gmt_block_list {
	struct gmt_replay_observer observer; /* registered with the replay */
	struct gmt_event_shapes shapes;
	struct gmt_events blocks;  /* in order of their end */
	struct gmt_events changes; /* in order of time */
	uint64_t live_blocks; /* the last blocks: those that live after the last event */
	/* for blocks of the program's heaps: from the number to the address */
	struct gmt_map heap_addresses;
	const struct gmt_recording *loaded;
	uint64_t event_address; /* address that the current event names */
	bool is_in_compacted;       /* the replay is still in the compacted prefix */
};

/* Prepares the list (zeroed), which must not move. Borrows the recording. */
void gmt_block_list_init(struct gmt_block_list *ret_list, const struct gmt_recording *loaded);

void gmt_block_list_fini(struct gmt_block_list *list);

#endif

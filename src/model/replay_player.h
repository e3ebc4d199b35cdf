/* SPDX-License-Identifier: MIT */
#ifndef GMT_MODEL_REPLAY_PLAYER_H
#define GMT_MODEL_REPLAY_PLAYER_H

/*
 * What the files of the replay share; for src/model/replay*.c alone. replay.c plays events and books
 * blocks, replay_memory.c knows handles, mappings and contexts, replay_graphs.c what a launch does,
 * replay_heaps.c the pools of the program.
 *
 * All functions answer false only for lack of memory.
 */

#include "base/intern.h"
#include "books/physical.h"
#include "model/replay.h"

/* A node of an executable graph. */
struct gmt_replay_node {
	uint64_t address;
	uint64_t size_bytes; /* of an allocation */
	uint32_t trace;      /* where an allocation comes from */
	int16_t device;
	bool is_alloc;
	bool is_freed_inside; /* an allocation that another node of the graph frees */
};

struct gmt_replay_graph {
	GMT_VEC(struct gmt_replay_node) nodes;
	bool frees_at_launch; /* what a launch left behind, the next one frees */
};

/* A heap of the program's, by its number in the file. */
struct gmt_replay_pool {
	uint64_t size_bytes; /* 0: it does not say */
	uint32_t row;        /* index in replay->heaps */
	bool lives;          /* it was made, and has not ended */
	struct gmt_map blocks; /* address to the block's number in the books */
};

struct gmt_player {
	struct gmt_replay *replay;
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_replay_options *options;
	struct gmt_map site_ids; /* stack, layer, device, space to site */
	struct gmt_physical physical;
	struct gmt_map graph_ids; /* executable graph to index in graphs */
	GMT_VEC(struct gmt_replay_graph) graphs;
	struct gmt_map pool_ids;   /* number of a heap to index in pools */
	GMT_VEC(struct gmt_replay_pool) pools;
	struct gmt_intern pool_rows; /* name, device: ids are indices in replay->heaps */
	struct gmt_map pool_names; /* number of a heap to index of the mark that names it */
	struct gmt_map pool_of_address; /* of NVTX's blocks: index in pools of the heap that had the last one there */
	struct gmt_map pool_site_ids; /* stack, row to site */
	uint64_t last_pool_block;  /* numbers of blocks in heaps, as the books know them */
	bool knows_pool_names;
	struct gmt_map node_traces; /* address of a node's block to the trace of the call that made the node, plus 1 */
};

/* Books the block of an alloc event and tells the observers. */
bool gmt_player_alloc(struct gmt_player *player, const struct gmt_snapshot_event *event);

/* Likewise, of a block in the heap that is index `row` of replay->heaps. */
bool gmt_player_alloc_in_heap(struct gmt_player *player, const struct gmt_snapshot_event *event, uint32_t row);

/*
 * Books the end of a block that `event` ended, and tells the observers. `layer` and `space` say how to
 * understand `address`; *ret_site is the block's, or UINT32_MAX.
 */
bool gmt_player_free(struct gmt_player *player, const struct gmt_snapshot_event *event, uint8_t layer,
	uint8_t space, uint64_t address, uint64_t size_bytes, uint32_t *ret_site);

/* Tells the observers that this memory is mapped where `event` says, whose layer, space and device are its own. */
bool gmt_player_tell_mapped(struct gmt_player *player, const struct gmt_snapshot_event *event, uint64_t number);

/* replay_memory.c: events of the realm of handles, of contexts and of limits. */
bool gmt_player_create_memory(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_release_memory(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_retain(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_map(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_unmap(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_bind(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_unbind(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_set_limit(struct gmt_player *player, const struct gmt_snapshot_event *event);
/* Ends what goes with the context of `event`, whose own block has ended. */
bool gmt_player_end_context(struct gmt_player *player, const struct gmt_snapshot_event *event);

/* replay_graphs.c */
bool gmt_player_instantiate(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_add_node(struct gmt_player *player, const struct gmt_snapshot_event *event);
bool gmt_player_launch(struct gmt_player *player, const struct gmt_snapshot_event *event);
void gmt_player_forget_graphs(struct gmt_player *player);

/* replay_heaps.c: any event of layer custom. */
bool gmt_player_play_heap(struct gmt_player *player, const struct gmt_snapshot_event *event);
void gmt_player_forget_heaps(struct gmt_player *player);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_INTERPRET_H
#define GMT_ACCOUNTING_INTERPRET_H

/*
 * What events mean: plays them into books. In the flow: events in order -> player -> books; used by the
 * replay of a snapshot (reader/replay/replay.h) and by folding (compact.h). interpret.c books blocks, interpret_memory.c knows
 * handles, mappings and contexts, interpret_graphs.c what a launch does, interpret_heaps.c the program's pools.
 *
 * All functions answer false only for lack of memory, or because the owner's did. No threads, no I/O.
 */

#include "containers/intern.h"
#include "accounting/accounting.h"
#include "accounting/physical.h"

/* An event, without what only its owner knows. */
struct gmt_interpret_event {
	uint64_t stamp;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t object; /* these two of all layers but torch: see the record's fields, `stream` being `offset` */
	uint64_t offset;
	uint64_t allocated_bytes; /* PyTorch's totals, when has_totals */
	uint64_t reserved_bytes;
	uint32_t place;  /* the owner's number of the stack: with layer, space and device it is a site */
	uint32_t tag;    /* the owner's; stays with the place where blocks take it from somewhere else */
	uint32_t thread; /* id */
	uint32_t result;
	uint16_t api;    /* id */
	uint16_t context;
	int16_t device;
	uint8_t kind, layer, space;
	bool has_totals;
};

/*
 * The heaps of one name in one device's (or the host's) memory: pools of the program's, of which there may
 * be one after the other. What their blocks hold is in the books, under the same number.
 */
struct gmt_interpret_heap {
	const char *name;  /* the owner's; "" when it has none */
	int16_t device;    /* or GMT_DEVICE_HOST */
	uint8_t source;    /* enum gmt_mark_source; 0: not known */
	uint64_t heaps;    /* ever */
	uint64_t live_heaps;
	uint64_t unsized_heaps; /* live ones that do not say how large they are */
	uint64_t size_bytes;    /* of the live ones that do */
	uint64_t max_size_bytes; /* most at any time */
	uint64_t swept_blocks;  /* that lived when their heap ended or was reset */
	uint64_t swept_bytes;
};

struct gmt_interpret_heaps { /* a GMT_VEC */
	struct gmt_interpret_heap *items;
	size_t count, capacity;
};

struct gmt_event_interpreter;

/* What a player tells; a function may be NULL. Each answers false to end the play. */
struct gmt_interpret_owner {
	/* The books have a new site, whose first event this is. */
	bool (*made_site)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/* This event asked for a block of this site; before it is booked. */
	bool (*asked)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/* The event made a block of this site; it is in the books. Its number is the event's address here. */
	bool (*began)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/*
	 * The event ended this block (also one whose free was missed); it is out of the books. The event's layer,
	 * space and address are here those of the block, whatever the call named.
	 */
	bool (*ended)(void *user, const struct gmt_interpret_event *event, const struct gmt_account_block *block);
	/*
	 * The memory with this number in the books is mapped at the event's address, too. The event's layer,
	 * space and device are here those of the memory.
	 */
	bool (*mapped)(void *user, const struct gmt_interpret_event *event, uint64_t number);
	/* A request of this site was refused; it is in the books. */
	bool (*refused)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/* A free was refused; is_live: something lives there. */
	bool (*refused_free)(void *user, const struct gmt_interpret_event *event, bool is_live);
	/* The name of the program's heap `number`, good as long as the player, and who gave it; may be left alone. */
	bool (*name_heap)(void *user, uint64_t number, const char **ret_name, uint8_t *ret_source);
	void *user;
};

/* A node of an executable graph. */
struct gmt_interpret_node {
	uint64_t address;
	uint64_t size_bytes; /* of an allocation */
	uint32_t place, tag; /* where an allocation comes from */
	int16_t device;
	bool is_alloc;
	bool is_freed_inside; /* an allocation that another node of the graph frees */
};

struct gmt_interpret_graph {
	GMT_VEC(struct gmt_interpret_node) nodes;
	struct gmt_map allocs; /* of a graph with many nodes: address to the first node that allocates there */
	uint32_t next_free_plus_1; /* of an unused entry */
	bool frees_at_launch; /* what a launch left behind, the next one frees */
};

/* A heap of the program's, by its number in the file. */
struct gmt_interpret_pool {
	uint64_t size_bytes; /* 0: it does not say */
	uint32_t row;        /* index in heaps */
	bool lives;          /* it was made, and has not ended */
	struct gmt_map blocks; /* address to the block's number in the books */
};

/* Zero-initialise, then set `books`, `heaps` and `owner`. */
struct gmt_event_interpreter {
	struct gmt_accounting *accounting;
	struct gmt_interpret_heaps *heaps; /* by the books' number */
	struct gmt_interpret_owner owner;
	bool forgets; /* what has ended takes no memory: numbers of memory are used again, graphs are forgotten */
	struct gmt_map site_ids; /* place, layer, device, space to site */
	struct gmt_physical physical;
	struct gmt_map graph_ids; /* executable graph to index in graphs */
	GMT_VEC(struct gmt_interpret_graph) graphs;
	uint32_t free_graph_plus_1;
	struct gmt_map pool_ids;   /* number of a heap to index in pools */
	GMT_VEC(struct gmt_interpret_pool) pools;
	struct gmt_intern pool_rows; /* name, device: ids are indices in heaps */
	struct gmt_map pool_of_address; /* of NVTX's blocks: index in pools of the heap that had the last one there */
	struct gmt_map pool_site_ids; /* place, row to site */
	uint64_t last_pool_block;  /* numbers of blocks in heaps, as the books know them */
	struct gmt_map node_makers; /* address of a node's block to place << 32 | tag of the call that made the node */
};

/* The next event, in order of time. */
bool gmt_interpret(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);

/*
 * The site of such an event, made where there is none; `heap_plus_1` counts the heaps from 1, 0 is none. And the
 * heap of that name and device, whose other fields do not matter. For setting books (compacted_prefix.h).
 */
bool gmt_interpret_get_site(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event, uint32_t heap_plus_1,
	uint32_t *ret_site);
bool gmt_interpret_get_heap(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_heap *about, uint32_t *ret_heap);

/* Adds to the books' anomalies what is only known at the end. Once, behind the last event. */
void gmt_event_interpreter_finish(struct gmt_event_interpreter *interpreter);

/* Frees all but the books and the heaps, which are the owner's. */
void gmt_event_interpreter_fini(struct gmt_event_interpreter *interpreter);

/* The rest is for interpret*.c alone. */

/* Books the block of an alloc event and tells the owner. */
bool gmt_interpret_alloc(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);

/* Likewise, of a block in the heap that is index `row` of the heaps. */
bool gmt_interpret_alloc_in_heap(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event, uint32_t row);

/*
 * Books the end of a block that `event` ended, and tells the owner. `layer` and `space` say how to
 * understand `address`; *ret_site is the block's, or UINT32_MAX.
 */
bool gmt_interpret_free(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event, uint8_t layer,
	uint8_t space, uint64_t address, uint64_t size_bytes, uint32_t *ret_site);

/* interpret_memory.c: events of the realm of handles, of contexts and of limits. */
bool gmt_interpret_create_memory(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_release_memory(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_retain(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_map(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_unmap(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_bind(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_unbind(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_set_limit(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
/* Ends what goes with the context of `event`, whose own block has ended. */
bool gmt_interpret_end_context(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);

/* interpret_graphs.c */
bool gmt_interpret_instantiate(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_add_node(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
bool gmt_interpret_launch(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
/* The graph has ended; for a player that forgets. */
void gmt_interpret_forget_graph(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
void gmt_interpret_forget_graphs(struct gmt_event_interpreter *interpreter);

/* interpret_heaps.c: any event of layer custom. */
bool gmt_interpret_heap_event(struct gmt_event_interpreter *interpreter, const struct gmt_interpret_event *event);
void gmt_interpret_forget_heaps(struct gmt_event_interpreter *interpreter);

#endif

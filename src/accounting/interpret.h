/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_INTERPRET_H
#define GMT_ACCOUNTING_INTERPRET_H

/*
 * Interprets events: turns each event into changes of the accounting. In the flow: events in order
 * -> event interpreter -> accounting. The replay of a recording (reader/replay/replay.h) and
 * compaction (compact.h) use it.
 *
 * - interpret.c: calls one of the others, by the kind of the event.
 * - interpret_blocks.c: allocations and frees of blocks.
 * - interpret_physical_memory.c: handles, mappings, limits and contexts.
 * - interpret_graphs.c: memory nodes of graphs, and launches of graphs.
 * - interpret_heaps.c: custom heaps.
 *
 * The owner is the code that runs an interpreter. Every function returns false only when out of
 * memory, or when an owner's callback returned false. No threads, no I/O.
 */

#include "containers/intern.h"
#include "accounting/accounting.h"
#include "accounting/physical_memory.h"

/* An event, without the fields that only the owner needs. */
struct gmt_interpret_event {
	uint64_t stamp;
	uint64_t address;
	uint64_t size_bytes;
	/*
	 * `object` and `offset`: for all layers except torch. See the event record's fields; `offset`
	 * is its field `stream`.
	 */
	uint64_t object;
	uint64_t offset;
	uint64_t allocated_bytes; /* PyTorch's totals, valid if has_totals is true */
	uint64_t reserved_bytes;
	/* the owner's number of the stack; with layer, space and device it identifies a site */
	uint32_t stack;
	/*
	 * the owner's value; if a block takes its stack from another event, it takes the tag from there
	 * too
	 */
	uint32_t tag;
	uint32_t thread; /* thread id */
	uint32_t result;
	uint16_t api;    /* api id */
	uint16_t context;
	int16_t device;
	uint8_t kind, layer, space;
	bool has_totals;
};

/*
 * All heaps that have the same name in the memory of one device (or of the host). The program may
 * create and destroy several such heaps one after the other. The accounting holds the totals of
 * their blocks under the same heap number.
 */
struct gmt_interpret_heap_group {
	const char *name;  /* owned by the owner; "" for a heap without a name */
	int16_t device;    /* ordinal of the device, or GMT_DEVICE_HOST */
	uint8_t source;    /* enum gmt_mark_source; 0: not known */
	uint64_t heaps;    /* number of heaps ever made */
	uint64_t live_heaps;
	uint64_t unsized_heaps; /* live heaps that do not state their size */
	uint64_t size_bytes;    /* sum of the sizes that the live heaps state */
	uint64_t max_size_bytes; /* maximum of size_bytes over time */
	uint64_t swept_blocks;  /* blocks that were still live when their heap ended or was reset */
	uint64_t swept_bytes;
};

struct gmt_interpret_heap_groups { /* layout of a GMT_VEC */
	struct gmt_interpret_heap_group *items;
	size_t count, capacity;
};

struct gmt_event_interpreter;

/*
 * Callbacks of the interpreter's owner. A callback may be NULL. A callback returns false to stop
 * the interpretation.
 */
struct gmt_interpret_observer {
	/* The accounting has a new site. `event` is the site's first event. */
	bool (*made_site)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/* The event requested a block of this site. The accounting does not contain the block yet. */
	bool (*requested)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/*
	 * The event made a block of this site. The accounting contains the block; its number is
	 * event->address here.
	 */
	bool (*began)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/*
	 * The event ended this block (also a block whose free was missed). The accounting no longer
	 * contains the block. Here the event's layer, space and address are those of the block,
	 * whatever the call named.
	 */
	bool (*ended)(void *user, const struct gmt_interpret_event *event,
		const struct gmt_account_block *block);
	/*
	 * The memory that has this number in the accounting is now also mapped at the event's address.
	 * Here the event's layer, space and device are those of the memory.
	 */
	bool (*mapped)(void *user, const struct gmt_interpret_event *event, uint64_t number);
	/* A request of this site was refused. The accounting has already counted the refusal. */
	bool (*refused)(void *user, const struct gmt_interpret_event *event, uint32_t site);
	/* A free was refused. is_live: a block is live at that address. */
	bool (*refused_free)(void *user, const struct gmt_interpret_event *event, bool is_live);
	/*
	 * Returns the name of the program's heap `number`, and its source (who named it). The name
	 * is borrowed and must outlive the interpreter. If the callback leaves them unchanged, the heap
	 * has the name "" and no source.
	 */
	bool (*name_heap)(void *user, uint64_t number, const char **ret_name, uint8_t *ret_source);
	void *user;
};

/* A memory node of an executable graph. */
struct gmt_interpret_node {
	uint64_t address;
	uint64_t size_bytes; /* of an allocation node */
	uint32_t stack, tag; /* stack and tag of an allocation node's call */
	int16_t device;
	bool is_alloc;
	bool is_freed_inside; /* an allocation that another node of the same graph frees */
};

struct gmt_interpret_graph {
	GMT_VEC(struct gmt_interpret_node) nodes;
	/* only for a graph with many nodes: maps an address to the first node that allocates there */
	struct gmt_map allocs;
	uint32_t next_free_plus_1; /* in an unused entry: index of the next unused entry, plus 1 */
	bool frees_at_launch; /* a launch frees the blocks that the previous launch left */
};

/* One heap of the program, identified by its number in the file. */
struct gmt_interpret_heap {
	uint64_t size_bytes; /* 0: the heap does not state its size */
	uint32_t group;      /* index in heap_groups */
	bool is_live;          /* the heap was made and has not ended */
	struct gmt_map blocks; /* maps an address to the block's number in the accounting */
};

/* Zero-initialise, then set `accounting`, `heap_groups` and `observer`. */
struct gmt_event_interpreter {
	struct gmt_accounting *accounting;
	struct gmt_interpret_heap_groups
		*heap_groups; /* indexed by the heap's number in the accounting */
	struct gmt_interpret_observer observer;
	/* frees the state of ended objects: reuses the numbers of memory, drops destroyed graphs */
	bool forgets_ended;
	struct gmt_map site_ids; /* maps stack, layer, device and space to a site */
	struct gmt_physical physical;
	struct gmt_map graph_ids; /* maps an executable graph to an index in graphs */
	GMT_VEC(struct gmt_interpret_graph) graphs;
	uint32_t free_graph_plus_1;
	struct gmt_map heap_ids;   /* maps a heap's number to an index in heaps */
	GMT_VEC(struct gmt_interpret_heap) heaps;
	struct gmt_intern heap_group_ids; /* keys are name and device; ids are indices in heap_groups */
	/* for NVTX blocks: maps an address to the heap (index in heaps) that last had a block there */
	struct gmt_map heap_of_address;
	struct gmt_map heap_site_ids; /* maps stack and heap group to a site */
	/*
	 * last number that was given to a block in a heap; the accounting uses these numbers as
	 * addresses
	 */
	uint64_t last_heap_block;
	/* maps the address of a node's block to (stack << 32 | tag) of the call that made the node */
	struct gmt_map node_creators;
};

/* Interprets the next event. Events must come in order of time. */
bool gmt_interpret(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);

/*
 * gmt_interpret_get_site: returns the site of an event's block, and creates it if necessary. Uses
 * only the event's stack, layer, space and device. `group_plus_1` is the index of the heap group,
 * plus 1; 0 means no heap.
 *
 * gmt_interpret_intern_heap_group: returns the index in heap_groups of the group with the name and
 * the device in `group`, and creates it if necessary. It ignores the other fields, except that a
 * new group takes its source from `group`.
 *
 * The reader uses both to restore an accounting (compacted_prefix.h).
 */
bool gmt_interpret_get_site(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t group_plus_1, uint32_t *ret_site);
bool gmt_interpret_intern_heap_group(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_heap_group *group, uint32_t *ret_group);

/* Adds the anomalies that are known only at the end. Call it once, after the last event. */
void gmt_event_interpreter_finish(struct gmt_event_interpreter *interpreter);

/* Frees everything except the accounting and the heaps, which belong to the owner. */
void gmt_event_interpreter_fini(struct gmt_event_interpreter *interpreter);

#endif

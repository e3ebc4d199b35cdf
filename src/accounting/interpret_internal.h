/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_INTERPRET_INTERNAL_H
#define GMT_ACCOUNTING_INTERPRET_INTERNAL_H

/* The functions by which the files interpret*.c call each other. Internal to them. */

#include "accounting/interpret.h"

/* Calls a callback of the owner, if the owner has set it. */
#define GMT_REPORT(interpreter, function, ...) \
	(!(interpreter)->observer.function || \
		(interpreter)->observer.function((interpreter)->observer.user, __VA_ARGS__))

/* Passes PyTorch's totals of an event to the accounting, if the event has them. */
bool gmt_interpret_reported_totals(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, int16_t device);

/* Accounts for the block of an alloc event and notifies the owner. */
bool gmt_interpret_alloc(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);

/* Same as gmt_interpret_alloc, for a block in a heap. `group` is an index in heap_groups. */
bool gmt_interpret_alloc_in_heap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint32_t group);

/*
 * Accounts for the end of a block that `event` ended, and notifies the owner. `layer` and `space`
 * define the meaning of `address`. *ret_site is the block's site, or UINT32_MAX.
 */
bool gmt_interpret_free(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event, uint8_t layer, uint8_t space, uint64_t address,
	uint64_t size_bytes, uint32_t *ret_site);

/* interpret_physical_memory.c: events of handles, contexts and limits. */
bool gmt_interpret_create_memory(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_release_memory(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_retain(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_map(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_unmap(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_bind(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_unbind(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_set_limit(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
/*
 * Ends all blocks that end with the context of `event`. The context's own block has already ended.
 */
bool gmt_interpret_end_context(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);

/* interpret_graphs.c */
bool gmt_interpret_instantiate(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_add_node(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
bool gmt_interpret_launch(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
/* Drops a destroyed graph. Only for an interpreter whose `forgets_ended` is true. */
void gmt_interpret_forget_graph(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
void gmt_interpret_forget_graphs(struct gmt_event_interpreter *interpreter);

/* interpret_heaps.c: any event of layer custom. */
bool gmt_interpret_heap_event(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event);
void gmt_interpret_heaps_fini(struct gmt_event_interpreter *interpreter);

#endif

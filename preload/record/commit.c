/* SPDX-License-Identifier: MIT */
#include "record/commit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "capture/memory.h"
#include "capture/native.h"
#include "capture/python.h"
#include "capture/room.h"
#include "config.h"
#include "process.h"
#include "record/clock.h"
#include "record/modules.h"
#include "record/overhead.h"
#include "record/session.h"
#include "thread.h"
#include "together.h"
#include "wire/format.h"

enum { CHANGES = 64 }; /* of the state below that the writer has not yet seen; of more, the oldest are forgotten */

static GMT_TOGETHER _Atomic bool is_paused;
static _Atomic uint32_t change_count;
static _Atomic uint64_t changes[CHANGES]; /* stamp * 2 + the new state; 0: being written */

void gmt_commit_pause(bool wanted)
{
	uint32_t index = atomic_fetch_add_explicit(&change_count, 1, memory_order_relaxed);

	atomic_store_explicit(&is_paused, wanted, memory_order_relaxed);
	/* Pairs with the acquire of gmt_commit_next_change. */
	atomic_store_explicit(&changes[index % CHANGES], gmt_clock_stamp() << 1 | wanted, memory_order_release);
}

bool gmt_commit_next_change(uint32_t *seen, uint64_t *ret_stamp, bool *ret_paused)
{
	uint32_t count = atomic_load_explicit(&change_count, memory_order_relaxed);

	if (count - *seen > CHANGES)
		*seen = count - CHANGES;
	if (*seen == count)
		return false;

	/* Zero again, or the next round would take it for its own. */
	uint64_t change = atomic_exchange_explicit(&changes[*seen % CHANGES], 0, memory_order_acquire);
	if (!change)
		return false;
	++*seen;
	*ret_stamp = change >> 1;
	*ret_paused = change & 1;
	return true;
}

bool gmt_commit_is_paused(void)
{
	return atomic_load_explicit(&is_paused, memory_order_relaxed);
}

bool gmt_commit_begin(void)
{
	struct gmt_thread_state *thread = &gmt_this_thread;

	gmt_process_check();
	if (thread->is_ours)
		return false;
	if (thread->busy) {
		gmt_session_count_loss(GMT_LOSS_REENTERED);
		return false;
	}

	enum gmt_room room = gmt_room_here();

	if (room == GMT_ROOM_NONE || (room == GMT_ROOM_EVENT && !gmt_session_is_on())) {
		gmt_session_count_loss(GMT_LOSS_ROOM);
		return false;
	}
	thread->has_room = room == GMT_ROOM_ENOUGH;
	thread->busy = true;
	thread->kept_errno = errno;
	thread->timed_from = gmt_overhead_begin(&thread->calls);
	return true;
}

static void capture(struct gmt_depot *depot, struct gmt_ring_event *event)
{
	bool lost = false;

	if (!gmt_this_thread.has_room) {
		gmt_session_count_loss(GMT_LOSS_STACK_ROOM);
		return;
	}

	uint32_t generation = gmt_config.native_stacks ? gmt_modules_use() : 0;
	struct gmt_capture_memory *memory = gmt_capture_memory_get();

	if (generation)
		event->stack = gmt_native_capture(depot, gmt_config.depth, generation, memory ? &memory->walk : NULL, &lost);
	if (gmt_config.python_stacks && memory)
		event->frames = gmt_python_capture(depot, gmt_config.depth, &memory->trace, &lost);
	else if (gmt_config.python_stacks)
		lost = true;
	if (gmt_config.python_stacks && !event->frames && memory && memory->trace.is_unclear)
		gmt_session_count_loss(GMT_LOSS_PYTHON);
	if (lost)
		gmt_session_count_loss(GMT_LOSS_STACK);
}

/*
 * Who made something is what matters; who ended it is asked for by an option. A refused free is a bug of the
 * program: where it stands matters as much as for an allocation.
 */
static bool wants_stack(const struct gmt_ring_event *event)
{
	switch (event->kind) {
	case GMT_KIND_ALLOC:
	case GMT_KIND_ALLOC_FAILED:
	case GMT_KIND_FREE_FAILED:
	case GMT_KIND_CREATE:
	case GMT_KIND_EXPORT:
	case GMT_KIND_SET:
		return true;
	case GMT_KIND_RESIZE:
		return event->address != 0; /* of a block: what made it as large as it is */
	case GMT_KIND_NODE_ALLOC:
		return !event->object;
	case GMT_KIND_LAUNCH:
	case GMT_KIND_NODE_FREE:
		return false;
	}
	return event->kind < GMT_RING_MARK && gmt_config.free_stacks;
}

void gmt_commit_end(struct gmt_ring_event *events, unsigned count)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	struct gmt_depot *depot = gmt_session_depot();
	const struct gmt_ring_event *captured = NULL;

	/* The first of them is counted by who waited in vain. */
	for (unsigned i = 1; !depot && i < count && gmt_session_is_beginning(); i++)
		gmt_session_count_loss(GMT_LOSS_STARTING);
	for (unsigned i = 0; depot && i < count; i++) {
		if (wants_stack(&events[i]) && !gmt_commit_is_paused()) {
			if (!captured)
				capture(depot, &events[i]);
			else
				events[i].stack = captured->stack, events[i].frames = captured->frames;
			captured = &events[i];
		}
		gmt_session_push(&events[i]);
	}
	if (__builtin_expect(thread->timed_from != 0, 0))
		gmt_overhead_end(thread->timed_from);
	errno = thread->kept_errno;
	thread->busy = false;
}

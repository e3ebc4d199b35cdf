/* SPDX-License-Identifier: MIT */
#include "driver/oom.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/cancellation.h"
#include "runtime/config.h"
#include "producer/clock.h"
#include "producer/event.h"
#include "producer/session_state.h"
#include "driver/driver_queries.h"
#include "format/format.h"

/*
 * Waits are limited, because a program may probe for memory with thousands of refused requests.
 * Four waits in a row are allowed: before PyTorch fails, the driver refuses up to three times, then
 * PyTorch once. After that, four waits a second are allowed.
 */
enum {
	WAIT_MS = 50,
	WAITS_IN_A_ROW = 4,
	WAIT_EVERY_NS = 250000000,
};

/* The time at which the next wait is due, at one wait per WAIT_EVERY_NS. */
static _Atomic uint64_t due_ns;

static bool may_wait(void)
{
	uint64_t now_ns = gmt_clock_monotonic_ns();
	uint64_t due = atomic_load_explicit(&due_ns, memory_order_relaxed);
	uint64_t start;

	do {
		start = due > now_ns ? due : now_ns;
		if (start - now_ns > (uint64_t)(WAITS_IN_A_ROW - 1) * WAIT_EVERY_NS)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&due_ns, &due, start + WAIT_EVERY_NS,
		memory_order_relaxed, memory_order_relaxed));
	return true;
}

void gmt_oom_query_free_memory(const struct gmt_ring_event *event,
	struct gmt_ring_event *ret_answer)
{
	*ret_answer = (struct gmt_ring_event){
		.stamp = event->stamp,
		.kind = GMT_RING_OOM,
		.device = event->device,
	};
	if (event->device < 0)
		return;

	/* A driver may reach a cancellation point while the recorder is in the middle of an event. */
	int cancelling = gmt_cancellation_disable();
	gmt_driver_memory_of_device(event->device, &ret_answer->address, &ret_answer->size_bytes);
	gmt_cancellation_restore(cancelling);
}

void gmt_oom_wait(void)
{
	int kept_errno = errno;

	if (gmt_config.snapshot_oom && gmt_session_is_on())
		gmt_writer_calls.snapshot_oom();
	/* Allocations of a signal handler during the wait are recorded. */
	if (gmt_session_is_on())
		gmt_writer_calls.sync(may_wait() ? gmt_config_wait_ms(WAIT_MS) : 0);
	errno = kept_errno;
}

void gmt_oom_record(const struct gmt_ring_event *event)
{
	struct gmt_ring_event events[2] = { *event };

	/* Asks before the stack is taken, because other threads continue to allocate. */
	gmt_oom_query_free_memory(event, &events[1]);
	gmt_event_end(events, 2);
	gmt_oom_wait();
}

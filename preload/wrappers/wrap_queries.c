/* SPDX-License-Identifier: MIT */
/* The wrapper of cuMemGetInfo. The recorder records the answer that the program gets. */
#include "wrappers/wrapper.h"

#include <stdatomic.h>

#include "producer/event.h"
#include "producer/session_state.h"
#include "driver/driver_queries.h"

/* A repeated answer is recorded once in this time. */
enum { REPEAT_NS = 100000000 };

/*
 * Returns whether the answer differs from the last recorded answer, or that is old. Takes no lock:
 * of two concurrent answers, both or neither may be recorded.
 */
static bool is_new(int device, uint64_t free_bytes, uint64_t total_bytes)
{
	static _Atomic uint64_t last_bytes, last_ns;
	uint64_t now_ns = gmt_clock_monotonic_ns();
	uint64_t bytes = free_bytes ^ total_bytes << 16 ^ (uint64_t)device << 56;

	if (atomic_load_explicit(&last_bytes, memory_order_relaxed) == bytes &&
		now_ns - atomic_load_explicit(&last_ns, memory_order_relaxed) < REPEAT_NS)
		return false;
	atomic_store_explicit(&last_bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&last_ns, now_ns, memory_order_relaxed);
	return true;
}

static void record_answer(uint64_t begin_stamp, uint64_t free_bytes, uint64_t total_bytes)
{
	struct gmt_ring_event answer = {
		.stamp = gmt_clock_stamp(),
		.kind = GMT_RING_SAMPLE,
		.address = free_bytes,
		.size_bytes = total_bytes,
		.object = begin_stamp,
		.result = GMT_SAMPLE_DRIVER,
	};
	struct gmt_driver_target target;

	/* A query does not begin a recording. */
	if (!gmt_session_is_on())
		return;
	target = gmt_driver_target(0);
	if (target.device < 0 || !is_new(target.device, free_bytes, total_bytes) || !gmt_event_begin())
		return;
	answer.device = target.device;
	gmt_event_end(&answer, 1);
}

BEGIN_WRAPPER(CUDA, cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))
struct gmt_call call = gmt_call_begin(GMT_HOOK_cuMemGetInfo_v2, GMT_CALL_DRIVER, GMT_KIND_SET);
uint64_t begin_stamp = gmt_clock_stamp();
CUresult result = original(free_bytes, total_bytes);

if (!result && free_bytes && total_bytes && gmt_call_is_event(&call))
	record_answer(begin_stamp, *free_bytes, *total_bytes);
gmt_call_end(&call);
return result;
}

/* SPDX-License-Identifier: MIT */
#include "call.h"

#include <errno.h>
#include <stdatomic.h>

#include "observe/optimizer.h"
#include "record/commit.h"
#include "record/session.h"
#include "routes/driver.h"

/* Built where it waits: to be copied right after it was written would cost more than all the rest of this. */
static void fill_event(struct gmt_ring_event *event, const struct gmt_call *call, uint32_t result, unsigned kind,
	const struct gmt_call_facts *facts)
{
	*event = (struct gmt_ring_event){
		.stamp = call->stamp ? call->stamp : gmt_clock_stamp(),
		.address = facts->address,
		.size_bytes = facts->size_bytes,
		.stream = facts->stream,
		.object = facts->object,
		.result = result,
		.api = gmt_this_thread.outermost,
		.kind = (uint8_t)kind,
		.layer = (uint8_t)gmt_space_layer(facts->space),
		.space = facts->space,
		.context = facts->context,
	};
}

/* Frees do not say of which device and context: the block knows. Nor does what is bound: the memory knows. */
static bool needs_place(unsigned kind)
{
	return kind != GMT_KIND_FREE && kind != GMT_KIND_FREE_FAILED && kind != GMT_KIND_UNMAP &&
		kind != GMT_KIND_BIND && kind != GMT_KIND_BIND_ADDRESS;
}

static void fill_place(struct gmt_ring_event *event, const struct gmt_call_facts *facts)
{
	struct gmt_driver_place place = { GMT_DEVICE_UNKNOWN, 0 };
	bool is_host = gmt_space_side(event->space) == GMT_SIDE_HOST;

	/* A driver that refused the call for another reason may not have looked at the stream, which is anything then. */
	if (needs_place(event->kind))
		gmt_driver_place(event->result && event->result != GMT_OOM_RESULT ? 0 : facts->stream, &place);
	event->device = (int16_t)(is_host || facts->device_plus_1 < 0 ? GMT_DEVICE_HOST :
		facts->device_plus_1 ? facts->device_plus_1 - 1 : place.device);
	if (!event->context)
		event->context = place.context;
}

/*
 * While what waits is being changed. A signal handler that calls a hooked function then is told from the calls
 * inside the interrupted one by this (gmt_call_begin).
 */
static void shut(struct gmt_thread_state *thread)
{
	thread->shut = true;
	atomic_signal_fence(memory_order_seq_cst);
}

static void open_again(struct gmt_thread_state *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->shut = false;
}

void gmt_call_begin_apart(struct gmt_thread_state *thread, struct gmt_call *call, enum gmt_kind kind)
{
	call->is_apart = true;
	call->counts = false;
	/* Of a runtime's function, what the driver did inside is not counted once more. */
	if (kind && !thread->apart)
		gmt_session_count_loss(GMT_LOSS_REENTERED);
	thread->apart++;
}

/* In the order of the stamps, as a free of a call is stamped before what happens in it. */
__attribute__((noinline)) static void sort_waiting(struct gmt_thread_state *thread)
{
	for (unsigned i = 1; i < thread->waiting_count; i++)
		for (unsigned j = i; j && thread->waiting[j].stamp < thread->waiting[j - 1].stamp; j--) {
			struct gmt_ring_event earlier = thread->waiting[j];

			thread->waiting[j] = thread->waiting[j - 1];
			thread->waiting[j - 1] = earlier;
		}
}

/* Records what waits. True when a refusal for lack of memory was among it. */
static bool flush(struct gmt_thread_state *thread)
{
	bool is_oom = thread->is_oom;

	if (thread->waiting_count > 1)
		sort_waiting(thread);
	if (thread->waiting_count && gmt_commit_begin())
		gmt_commit_end(thread->waiting, thread->waiting_count);
	thread->waiting_count = 0;
	thread->is_oom = false;
	return is_oom;
}

/* Room for one more event, which waits from now on. */
static struct gmt_ring_event *wait_for_end(struct gmt_thread_state *thread)
{
	/* One call that does very much: what waits gets the stack of here. */
	if (thread->waiting_count == GMT_THREAD_WAITING && flush(thread))
		gmt_oom_wait();
	return &thread->waiting[thread->waiting_count++];
}

/* Asked before the stack is taken: other threads go on allocating. */
static void ask_what_is_left(struct gmt_thread_state *thread, const struct gmt_ring_event *refused)
{
	struct gmt_ring_event driver_says;

	gmt_oom_ask(refused, &driver_says);
	*wait_for_end(thread) = driver_says;
	thread->is_oom = true;
}

/* With its backend cudaMallocAsync, PyTorch tells of no blocks: these are its own. */
static void see_block(void)
{
	int kept_errno = errno;

	gmt_optimizer_see_block();
	errno = kept_errno;
}

void gmt_call_add(const struct gmt_call *call, uint32_t result, const struct gmt_call_facts *facts)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	unsigned kind = result ? gmt_kind_failure(facts->kind) : facts->kind;
	struct gmt_ring_event *event;

	/* Zero bytes were asked for and given, or nothing was freed. */
	if (!kind || (!facts->address && kind != GMT_KIND_ALLOC_FAILED))
		return;
	shut(thread);
	event = wait_for_end(thread);
	fill_event(event, call, result, kind, facts);
	fill_place(event, facts);
	thread->has_seen_event = true;
	if (result == GMT_OOM_RESULT && kind == GMT_KIND_ALLOC_FAILED)
		ask_what_is_left(thread, event);
	open_again(thread);
	if (facts->space == GMT_SPACE_POOL && kind == GMT_KIND_ALLOC)
		see_block();
}

void gmt_call_end(const struct gmt_call *call)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	bool is_oom = false;

	if (call->is_apart) {
		thread->apart--;
		return;
	}
	shut(thread);
	if (call->role == GMT_CALL_DRIVER)
		thread->driver_depth--;
	if (!--thread->depth) {
		if (thread->waiting_count)
			is_oom = flush(thread);
		thread->has_seen_event = false;
	}
	open_again(thread);
	if (is_oom)
		gmt_oom_wait();
}

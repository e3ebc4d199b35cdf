/* SPDX-License-Identifier: MIT */
#include "producer/thread_ring.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hooks/call_counts.h"
#include "runtime/config.h"
#include "runtime/bounded_wait.h"
#include "runtime/fork_detection.h"
#include "runtime/recorder_stack.h"
#include "producer/ring.h"
#include "producer/losses.h"
#include "producer/recording_memory.h"
#include "producer/session_state.h"
#include "runtime/stages.h"
#include "producer/thread_state.h"
#include "runtime/yield.h"

enum {
	FULL_WAIT_NS = 1000000,     /* how long an event waits for room in its ring */
	STACK_WAIT_NS = 100000000,  /* how long a thread without a ring waits for a recorder stack */
	/* A thread that got no ring drops so many events before it tries again. */
	EVENTS_UNTIL_RETRY = 64,
	FULL_SHARE = 100, /* all events of a thread together may wait 1 / FULL_SHARE of its time */
	FULL_GRACE_NS = 100000000,  /* plus this time, for short runs and for bursts at their start */
	NAP_NS = 50000,
};

static struct {
	_Atomic uint32_t last_thread;
	pthread_key_t thread_key;
	void (*at_first_event)(void);
	void (*at_claim)(void);
} thread_rings;

/*
 * Runs when the thread's data is destroyed. The value is the slot index + 1, because a key's value
 * must not be NULL.
 */
static void leave_ring(void *slot_plus_1)
{
	struct gmt_thread_state *thread = &gmt_this_thread;

	GMT_RUN_STAGE(thread_end);
	if (thread->ring && thread->session == atomic_load(&gmt_session_number))
		gmt_recording_memory_leave_ring(gmt_session.memory, (uint32_t)(uintptr_t)slot_plus_1 - 1);
	/*
	 * Wakes the writer soon, so that the next thread finds this slot free and takes no other slot.
	 * If the writer is delayed, only the main thread has a ring, and the process may be about to
	 * end.
	 */
	if (thread->ring && !gmt_writer_calls.is_delayed())
		gmt_writer_calls.wake();
	/*
	 * Destructors of other keys may still free CUDA memory. These events go into this ring: the
	 * thread keeps it until the thread no longer exists.
	 */
}

void gmt_thread_ring_init(void)
{
	/*
	 * Creates the key early: a thread can set the first keys without memory from the host's heap.
	 */
	pthread_key_create(&thread_rings.thread_key, leave_ring);
}

/* Restarts the numbering of threads at 1. */
static void after_fork(void)
{
	atomic_store(&thread_rings.last_thread, 0);
}

GMT_AT_STAGE(after_fork, PRODUCER, after_fork);

void gmt_thread_ring_call_at_first_event(void (*work)(void))
{
	thread_rings.at_first_event = work;
}

void gmt_thread_ring_call_at_claim(void (*work)(void))
{
	thread_rings.at_claim = work;
}

/*
 * Lets the writer run. At first only yields, because the writer is nearly always at work. Later the
 * thread sleeps, because a thread that yields could keep the writer from running.
 */
static void rest(uint64_t waited_ns)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	if (waited_ns < FULL_WAIT_NS / 4)
		gmt_yield();
	else
		syscall(SYS_nanosleep, &nap, NULL);
}

struct claim {
	struct gmt_ring *ring;
	bool can_never_claim; /* no ring can be claimed any more */
};

/*
 * Runs on a recorder stack, because it allocates the slot's memory. Signals are blocked until the
 * thread has its ring: a handler may fork, and the child releases the memory.
 */
static void claim_work(void *argument)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	struct gmt_recording_memory *memory = gmt_session.memory;
	struct claim *claim = argument;
	uint32_t slot, used;

	claim->can_never_claim = thread->in_recorder & GMT_IN_RECORDER_FORKED;
	if (claim->can_never_claim || !gmt_recording_memory_claim_ring(memory, &slot))
		return;
	claim->ring =
		gmt_ring_init(gmt_recording_memory_ring(memory, slot), GMT_RECORDING_MEMORY_RING_EVENTS,
			atomic_fetch_add(&thread_rings.last_thread, 1) + 1, gmt_thread_tid());
	/* Pairs with the acquire in the writer's drain: a slot below slots_used has its ring. */
	used = atomic_load(&memory->header->slots_used);
	while (used <= slot &&
		!atomic_compare_exchange_weak(&memory->header->slots_used, &used, slot + 1))
		;
	pthread_setspecific(thread_rings.thread_key, (void *)(uintptr_t)(slot + 1));
	thread->ring = claim->ring;
	thread->call_counts = gmt_call_counts_of_slot(slot);
	thread->ring_began_ns = gmt_kernel_now_ns();
	thread->waited_ns = 0;
	thread->consumed_at_failed_wait = 0;
	thread->session = atomic_load(&gmt_session_number);
}

/*
 * Returns how long a thread may wait for its ring. A wait may succeed if ended threads have left
 * rings, because the writer frees them. It may also succeed if no recorder stack was free
 * (`had_stack` is false), because other threads use a stack only for a short time. `may_wait` is
 * false if the thread's last wait failed.
 */
static uint64_t claim_wait_ns(bool may_wait, bool had_stack)
{
	uint64_t usual_ns = may_wait ? had_stack ? FULL_WAIT_NS : STACK_WAIT_NS : 0;
	bool may_succeed = !had_stack || gmt_recording_memory_has_left_ring(gmt_session.memory);

	return may_succeed ? gmt_config_wait_ns(usual_ns) : usual_ns;
}

/* Claims a ring. Waits for a ring, unless none can be claimed any more. False: no ring. */
static bool claim_slot(bool is_known_own_process, bool may_wait)
{
	uint64_t last_ns = gmt_kernel_now_ns(), waited_ns = 0;
	struct claim claim = { 0 };

	if (!is_known_own_process && gmt_fork_detection_is_child())
		return false;
	for (;;) {
		bool had_stack = gmt_recorder_stack_run(claim_work, &claim);

		if (claim.ring)
			return true;
		if (claim.can_never_claim)
			return false;
		/* The writer frees the rings of ended threads. */
		gmt_writer_calls.wake();
		if (waited_ns >= claim_wait_ns(may_wait, had_stack))
			return false;
		rest(waited_ns);

		uint64_t now_ns = gmt_kernel_now_ns();

		waited_ns += gmt_bounded_wait_try_ns(last_ns, now_ns);
		last_ns = now_ns;
	}
}

__attribute__((noinline)) static struct gmt_ring *claim_ring(struct gmt_thread_state *thread,
	bool is_known_own_process)
{
	if (!claim_slot(is_known_own_process,
			!thread->events_until_retry && gmt_config.overflow != GMT_OVERFLOW_DROP)) {
		/*
		 * In the child of a signal handler, only this event gets no ring. The event is the
		 * parent's.
		 */
		thread->events_until_retry =
			thread->in_recorder & GMT_IN_RECORDER_FORKED ? 0 : EVENTS_UNTIL_RETRY;
		return NULL;
	}
	thread->events_until_retry = 0;
	/*
	 * The process already has several threads. So the recorder's thread changes nothing for libc.
	 */
	if (gmt_thread_tid() != (uint32_t)getpid())
		gmt_writer_calls.start_if_delayed();
	if (thread_rings.at_claim)
		thread_rings.at_claim();
	if (thread_rings.at_first_event)
		thread_rings.at_first_event();
	/* The child of a signal handler has no ring. */
	return thread->in_recorder & GMT_IN_RECORDER_FORKED ? NULL : thread->ring;
}

static struct gmt_ring *ring_of_thread(void)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	bool current =
		thread->session == atomic_load_explicit(&gmt_session_number, memory_order_relaxed);

	if (__builtin_expect(thread->ring && current, 1))
		return thread->ring;

	/* The flag holds for this event only. */
	bool is_known_own_process = thread->is_known_own_process;

	thread->is_known_own_process = false;
	if (!current) {
		thread->events_until_retry = 0;
		thread->ring = NULL;
	}
	if (thread->events_until_retry > 1) {
		thread->events_until_retry--;
		return NULL;
	}
	thread->session = atomic_load(&gmt_session_number);
	return claim_ring(thread, is_known_own_process);
}

/*
 * Returns how long this event may wait for room. Returns 0 if its thread has used up its share.
 */
static uint64_t allowed_wait_ns(const struct gmt_thread_state *thread, uint64_t now_ns)
{
	if (gmt_config.overflow == GMT_OVERFLOW_DROP)
		return 0;
	/*
	 * If the last wait failed and the writer has taken no event since, the thread does not wait
	 * again.
	 */
	if (gmt_config.overflow == GMT_OVERFLOW_WAIT)
		return thread->consumed_at_failed_wait == atomic_load(&thread->ring->consumed) + 1
			? 0
			: gmt_config_wait_ns(0);

	uint64_t share_ns = (now_ns - thread->ring_began_ns) / FULL_SHARE + FULL_GRACE_NS;

	return thread->waited_ns < share_ns ? FULL_WAIT_NS : 0;
}

/* Pushes the event when the writer has made room. Returns false if there is no room in time. */
__attribute__((noinline)) static bool push_when_possible(struct gmt_ring *ring,
	const struct gmt_ring_event *event)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	uint64_t last_ns = gmt_kernel_now_ns(), passed_ns = 0;
	uint64_t wait_ns = allowed_wait_ns(thread, last_ns);
	bool is_pushed = false;

	if (!wait_ns || atomic_load_explicit(&gmt_session.is_stalled, memory_order_relaxed))
		return false;
	gmt_writer_calls.wake();
	/* The writer's thread could not be created, so there will be no room. */
	if (gmt_writer_calls.is_delayed())
		return false;
	do {
		rest(passed_ns);
		is_pushed = gmt_ring_push(ring, event);

		uint64_t now_ns = gmt_kernel_now_ns();

		passed_ns += gmt_bounded_wait_try_ns(last_ns, now_ns);
		last_ns = now_ns;
		/*
		 * Stops if the disk accepts no more data or the recording is over. While the recording
		 * ends, the writer empties the rings once more.
		 */
	} while (!is_pushed && passed_ns < wait_ns &&
		!atomic_load_explicit(&gmt_session.is_stalled, memory_order_relaxed) &&
		(gmt_session_state_is_on(atomic_load_explicit(&gmt_session_state, memory_order_relaxed)) ||
			atomic_load_explicit(&gmt_session.ending, memory_order_relaxed)));
	thread->waited_ns += passed_ns;
	thread->consumed_at_failed_wait = is_pushed ? 0 : atomic_load(&ring->consumed) + 1;
	return is_pushed;
}

void gmt_thread_ring_push(const struct gmt_ring_event *event)
{
	struct gmt_ring *ring;

	/* The event is the parent's, and the parent records it. */
	if (gmt_this_thread.in_recorder & GMT_IN_RECORDER_FORKED)
		return;
	ring = ring_of_thread();

	if (!ring) {
		/*
		 * A handler may have forked on the way. Then this is the child, and the event is the
		 * parent's.
		 */
		if (!(gmt_this_thread.in_recorder & GMT_IN_RECORDER_FORKED))
			gmt_count_loss(GMT_LOSS_NO_RING);
		return;
	}
	if (!gmt_ring_push(ring, event) && !push_when_possible(ring, event)) {
		gmt_ring_count_drop(ring, event);
		return;
	}
	if (gmt_ring_is_half_way(ring, GMT_RECORDING_MEMORY_RING_EVENTS))
		gmt_writer_calls.wake();
}

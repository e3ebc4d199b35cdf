/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_THREAD_STATE_H
#define GMT_PRODUCER_THREAD_STATE_H

/*
 * The state that the recorder keeps for each thread, and the guard that makes one event of each
 * call of the program.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/hidden.h"
#include "shared_memory/ring_event.h"

struct gmt_ring;
struct gmt_call_counts;
struct gmt_thread_stack_caches;

enum { GMT_THREAD_WAITING = 4 };

/* Bits of gmt_thread_state::in_recorder. */
enum gmt_in_recorder {
	GMT_IN_RECORDER_RECORDING = 1, /* the recorder runs in this thread */
	/* This process is the child of a signal handler that forked; the event is the parent's. */
	GMT_IN_RECORDER_FORKED = 2,
};

enum gmt_closed {
	GMT_CLOSED_BEGIN = 1,  /* a call begins; the driver is not called yet */
	GMT_CLOSED_CHANGE = 2, /* the waiting events are being changed */
};

struct gmt_thread_state {
	/* Every event reads the members from `depth` to `call_counts`. They share one cache line. */

	/*
	 * Depth of nested hooked CUDA calls. The upper 32 bits count the driver calls among them
	 * (call.h).
	 */
	_Alignas(64) uint64_t depth;
	uint64_t stamp_before; /* before the outermost call, if its kind ends something; else 0 */
	uint16_t outermost; /* enum gmt_hook of the outermost call */
	uint8_t outer_kind; /* enum gmt_event_kind of the outermost call; 0: it makes no event itself */
	uint8_t waiting_count;
	bool has_seen_event; /* an inner call already recorded what the outermost call did */
	bool is_oom; /* a waiting event reports that memory ran out */
	/*
	 * enum gmt_in_recorder. 0 if a signal handler may enter the recorder. Never 0 if
	 * is_recorder_thread.
	 */
	uint8_t in_recorder;
	uint8_t closed; /* enum gmt_closed. 0 if a signal handler may enter the recorder. */
	/* Calls since the last timed call (overhead.h); 0: this call is timed */
	uint32_t calls;
	/* gmt_session_number of the recording that `ring` belongs to; a forked child has another */
	uint32_t session;
	/*
	 * Stack pointer of the caller of the outermost call (outer_call.h).
	 */
	uintptr_t outer_cfa;
	/* The caches of the last stacks; NULL: not claimed yet */
	struct gmt_thread_stack_caches *stack_caches;
	struct gmt_ring *ring;
	/* The thread's own counts, by its ring's slot; NULL: it counts in the shared block */
	struct gmt_call_counts *call_counts;

	/* `depth` at the fork that made this process inside a call; 0: all those calls have ended */
	uint64_t parent_depth;
	uint8_t parent_kind; /* `outer_kind` at that fork */
	uint64_t timed_from; /* stamp at which the timed call began */
	/*
	 * Depth of hooked calls of a signal handler that ran while `closed` or `in_recorder` was set.
	 */
	uint32_t reentrant_depth;
	/* A thread of the recorder (writer, sampler): its driver calls are not the program's. */
	bool is_recorder_thread;
	/*
	 * The thread has no ring yet, and this event already checked that the process is no guest
	 * (fork_detection.h).
	 */
	bool is_known_own_process;
	uint8_t events_until_retry; /* until it asks for a ring again; 0: the last request got one */
	int kept_errno; /* the host's errno while the recorder runs */
	uint32_t tid; /* the kernel's thread id; 0: not asked yet */
	uint64_t ring_began_ns; /* when the thread got its ring */
	uint64_t waited_ns; /* time spent waiting for room in the ring since then */
	/* `consumed` of the ring plus 1 when the last wait failed; 0: no wait failed */
	uint64_t consumed_at_failed_wait;
	/* Events that wait until the outermost call returns. Each takes one cache line. */
	_Alignas(64) struct gmt_ring_event waiting[GMT_THREAD_WAITING];
};

/*
 * Initial-exec: a preloaded library has static TLS, so an access is one load and never allocates.
 */
extern GMT_HIDDEN __thread struct gmt_thread_state gmt_this_thread
	__attribute__((tls_model("initial-exec")));

/* Returns whether the recorder is at work in the thread, so that a signal handler interrupts it. */
static inline bool gmt_thread_is_interrupted(const struct gmt_thread_state *thread)
{
	return thread->in_recorder & GMT_IN_RECORDER_RECORDING || thread->closed;
}

/* Forgets the waiting events. */
static inline void gmt_thread_drop_waiting(struct gmt_thread_state *thread)
{
	thread->waiting_count = 0;
	thread->has_seen_event = thread->is_oom = false;
}

/*
 * Returns the kernel's id of the calling thread. Asks the kernel only once per thread. Do not call
 * it in a guest (fork_detection.h): a guest uses its parent's state.
 */
static inline uint32_t gmt_thread_tid(void)
{
	if (!gmt_this_thread.tid)
		gmt_this_thread.tid = (uint32_t)syscall(SYS_gettid);
	return gmt_this_thread.tid;
}

#endif

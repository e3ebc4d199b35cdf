/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_THREAD_H
#define GMT_PRODUCER_THREAD_H

/* What the shim keeps per thread, and the guard that makes one user call one event. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/hidden.h"
#include "shared_memory/ring_event.h"

struct gmt_ring;
struct gmt_call_counts;
struct gmt_capture_memory;

enum { GMT_THREAD_WAITING = 4 };

/* Bits. */
enum gmt_in_recorder {
	GMT_IN_RECORDER_RECORDING = 1, /* the recorder runs in this thread */
	GMT_IN_RECORDER_FORKED = 2,    /* a signal handler forked while it did: this is the child, and the event is the parent's */
};

enum gmt_closed {
	GMT_CLOSED_BEGIN = 1,  /* a call begins: the driver was not called yet */
	GMT_CLOSED_CHANGE = 2, /* the events that wait are being changed */
};

struct gmt_thread_state {
	/* What each event looks at, in one line of the cache. */
	_Alignas(64) uint64_t depth; /* of hooked CUDA calls inside each other; the upper half: of the driver's among them (call.h) */
	uint64_t before;       /* stamp before the outermost, where it ends something; else 0 */
	uint16_t outermost;    /* enum gmt_hook of the outermost */
	uint8_t outer_kind;    /* enum gmt_kind of the outermost; 0: it makes no event of its own */
	uint8_t waiting_count;
	bool has_seen_event;   /* an event inside the outermost says what it did */
	bool is_oom;           /* among those that wait is a refusal for lack of memory */
	uint8_t busy;         /* enum gmt_in_recorder: 0 when a signal handler may enter the recorder; never 0 where is_ours */
	uint8_t shut;         /* enum gmt_closed: likewise */
	uint32_t calls;       /* noted down since one was timed (producer/overhead.h); 0: this one is */
	uint32_t session;     /* the recording that `ring` belongs to; a forked child has another */
	uintptr_t outer_cfa;   /* the stack pointer of the caller of the outermost call: a call that returned has none (outer_call.h) */
	struct gmt_capture_memory *memory; /* its last stacks (producer/memory.h); NULL: none yet */
	struct gmt_ring *ring;
	struct gmt_call_counts *call_counts; /* the thread's own, by its ring's slot; NULL: it has none */

	uint64_t parent_depth; /* `depth` at the fork that made this process inside a call; 0: none of those calls is left */
	uint8_t parent_kind;   /* `outer_kind` at that fork */
	bool is_on_recorder_stack; /* recorder_stack.h */
	uint64_t timed_from;  /* the stamp at which the call began that is timed */
	uint32_t apart;       /* depth of hooked calls of a signal handler that did enter while it was shut or busy */
	bool is_ours;         /* the writer: its driver calls are not the program's */
	bool is_no_guest;     /* found out in this event, by which it has no ring yet (process.h) */
	uint8_t refused;      /* no ring could be had: events until the next try */
	int kept_errno;       /* the host's, while the recorder runs */
	uint32_t tid;         /* what the kernel calls it; 0: not asked */
	uint64_t ring_began_ns; /* when it got its ring */
	uint64_t waited_ns;     /* since then, for room in it */
	uint64_t gave_up_at;    /* what was consumed of it, plus 1, when a wait was in vain; 0: none was */
	/* Until the outermost call returns; each in one line of the cache. */
	_Alignas(64) struct gmt_ring_event waiting[GMT_THREAD_WAITING];
};

/* Initial-exec: a preload has static TLS, so a look at it is one load and never allocates. */
extern GMT_HIDDEN __thread struct gmt_thread_state gmt_this_thread __attribute__((tls_model("initial-exec")));

/*
 * What the kernel calls the calling thread: asked once. Not for a guest (process.h), which has its parent's state; the child of a
 * fork begins with none.
 */
static inline uint32_t gmt_thread_tid(void)
{
	if (!gmt_this_thread.tid)
		gmt_this_thread.tid = (uint32_t)syscall(SYS_gettid);
	return gmt_this_thread.tid;
}

#endif

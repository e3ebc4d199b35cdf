/* SPDX-License-Identifier: MIT */
#include "producer/thread_stack_caches.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/fork_detection.h"
#include "runtime/stages.h"

enum { ASKED_AT_ONCE = 4 };

_Static_assert(sizeof(struct gmt_thread_stack_caches) <= 798976,
	"docs/internals/bounds.md says that it is not larger");

static struct slot {
	_Atomic uint32_t owner; /* the kernel's id of the thread; 0: free */
	struct gmt_thread_stack_caches *caches; /* used by the owner only; kept for the next owner */
} slots[GMT_THREAD_STACK_CACHES_MAX];

static struct {
	_Atomic uint32_t used; /* number of slots that ever had an owner */
	_Atomic uint32_t next_asked;
} counters;

/*
 * Claims the slot for `thread`. Returns NULL if the owner is no longer `was`. If there is no
 * memory, returns NULL and sets *ret_failed.
 */
static struct gmt_thread_stack_caches *take(struct slot *slot, uint32_t was, uint32_t thread,
	bool *ret_failed)
{
	/*
	 * Acquire and release: pairs with the same exchange in the thread that owned the slot before.
	 */
	if (!atomic_compare_exchange_strong_explicit(&slot->owner, &was, thread, memory_order_acq_rel,
			memory_order_relaxed))
		return NULL;
	if (!slot->caches) {
		void *memory = mmap(NULL, sizeof(*slot->caches), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED) {
			atomic_store_explicit(&slot->owner, 0, memory_order_release);
			*ret_failed = true;
			return NULL;
		}
		slot->caches = memory;
		slot->caches->slot = (uint32_t)(slot - slots);
	}
	gmt_walk_init(&slot->caches->walk);
	slot->caches->trace.epoch = 0;
	/* The previous owner may have ended in the middle of a capture. */
	atomic_store_explicit(&slot->caches->trace.guard.inside, 0, memory_order_relaxed);
	return slot->caches;
}

/*
 * Finds a slot whose thread ended by the bare system call, and so did not leave it. Each call asks
 * the kernel about the next few slots.
 */
static struct gmt_thread_stack_caches *take_of_dead(uint32_t count, uint32_t thread,
	bool *ret_failed)
{
	for (int i = 0; i < ASKED_AT_ONCE && count; i++) {
		struct slot *slot =
			&slots[atomic_fetch_add_explicit(&counters.next_asked, 1, memory_order_relaxed) %
				count];
		uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
		struct gmt_thread_stack_caches *caches = NULL;

		if (owner && syscall(SYS_tgkill, getpid(), owner, 0) && errno == ESRCH)
			caches = take(slot, owner, thread, ret_failed);
		if (caches)
			return caches;
	}
	return NULL;
}

struct gmt_thread_stack_caches *gmt_thread_stack_caches_claim(void)
{
	struct gmt_thread_stack_caches *caches = NULL;
	uint32_t thread, count;
	bool has_failed = false;

	/* A child that runs in its parent's memory would leave its claim to the parent's thread. */
	if (gmt_fork_detection_is_child())
		return NULL;
	thread = gmt_thread_tid();
	gmt_this_thread.is_known_own_process = !gmt_this_thread.ring;
	/*
	 * The loop ends: a further round means that another thread got the slot that this thread
	 * wanted, and the number of slots is limited.
	 */
	do {
		count = atomic_load_explicit(&counters.used, memory_order_relaxed);
		for (uint32_t i = 0; i < count && !caches && !has_failed; i++)
			if (!atomic_load_explicit(&slots[i].owner, memory_order_relaxed))
				caches = take(&slots[i], 0, thread, &has_failed);
		if (!caches && !has_failed)
			caches = take_of_dead(count, thread, &has_failed);
		/*
		 * Only one thread gets the new slot. Another thread searches again in the next round.
		 */
		if (!caches && !has_failed && count < GMT_THREAD_STACK_CACHES_MAX &&
			atomic_compare_exchange_strong_explicit(&counters.used, &count, count + 1,
				memory_order_relaxed, memory_order_relaxed))
			caches = take(&slots[count], 0, thread, &has_failed);
	} while (!caches && !has_failed && count < GMT_THREAD_STACK_CACHES_MAX);
	gmt_this_thread.stack_caches = caches;
	return caches;
}

void gmt_thread_stack_caches_leave(void)
{
	struct gmt_thread_stack_caches *caches = gmt_this_thread.stack_caches;

	gmt_this_thread.stack_caches = NULL;
	/* Pairs with the exchange in take. */
	if (caches)
		atomic_store_explicit(&slots[caches->slot].owner, 0, memory_order_release);
}

/* Frees all caches in the child of a fork, except those of the forking thread. */
static void after_fork(void)
{
	const struct gmt_thread_stack_caches *own = gmt_this_thread.stack_caches;

	for (uint32_t i = 0; i < GMT_THREAD_STACK_CACHES_MAX; i++)
		atomic_store(&slots[i].owner, own && own->slot == i ? gmt_thread_tid() : 0);
}

GMT_AT_STAGE(after_fork, PRODUCER, after_fork);
GMT_AT_STAGE(thread_end, PRODUCER, gmt_thread_stack_caches_leave);

/* SPDX-License-Identifier: MIT */
#include "capture/walks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ASKED_AT_ONCE = 4 };

static struct slot {
	_Atomic uint32_t owner; /* a thread, as the kernel calls it; 0: free */
	struct gmt_walk *walk;  /* the owner's business; kept for the next one */
} slots[GMT_WALKS];

static _Atomic uint32_t used; /* slots that somebody ever had */
static _Atomic uint32_t next_asked;

static struct gmt_walk *take(struct slot *slot, uint32_t was, uint32_t thread)
{
	/* Acquire and release: pairs with itself in the thread that had it before. */
	if (!atomic_compare_exchange_strong_explicit(&slot->owner, &was, thread, memory_order_acq_rel, memory_order_relaxed))
		return NULL;
	if (!slot->walk) {
		void *memory = mmap(NULL, sizeof(*slot->walk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED) {
			atomic_store_explicit(&slot->owner, 0, memory_order_release);
			return NULL;
		}
		slot->walk = memory;
		slot->walk->slot = (uint32_t)(slot - slots);
	}
	slot->walk->own_stack = (struct gmt_own_stack){ 0 };
	slot->walk->begin = slot->walk->end = 0;
	slot->walk->id = slot->walk->taken = 0;
	return slot->walk;
}

/* Threads that ended by the system call alone tell nobody: some are asked about each time, in turns. */
static struct gmt_walk *take_of_dead(uint32_t count, uint32_t thread)
{
	for (int i = 0; i < ASKED_AT_ONCE && count; i++) {
		struct slot *slot = &slots[atomic_fetch_add_explicit(&next_asked, 1, memory_order_relaxed) % count];
		uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);

		if (owner && syscall(SYS_tgkill, getpid(), owner, 0) && errno == ESRCH) {
			struct gmt_walk *walk = take(slot, owner, thread);

			if (walk)
				return walk;
		}
	}
	return NULL;
}

struct gmt_walk *gmt_walks_claim(void)
{
	uint32_t thread = (uint32_t)syscall(SYS_gettid);
	uint32_t count = atomic_load_explicit(&used, memory_order_relaxed);
	struct gmt_walk *walk = NULL;

	for (uint32_t i = 0; i < count && !walk; i++)
		if (!atomic_load_explicit(&slots[i].owner, memory_order_relaxed))
			walk = take(&slots[i], 0, thread);
	if (!walk)
		walk = take_of_dead(count, thread);
	while (!walk && count < GMT_WALKS) {
		if (atomic_compare_exchange_weak_explicit(&used, &count, count + 1, memory_order_relaxed, memory_order_relaxed))
			return take(&slots[count], 0, thread);
	}
	return walk;
}

void gmt_walks_leave(struct gmt_walk *walk)
{
	/* Pairs with the exchange in take. */
	atomic_store_explicit(&slots[walk->slot].owner, 0, memory_order_release);
}

void gmt_walks_reset(void)
{
	for (uint32_t i = 0; i < GMT_WALKS; i++)
		atomic_store(&slots[i].owner, 0);
}

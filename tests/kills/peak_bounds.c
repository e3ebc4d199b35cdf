/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "comparison.h"

/* A change of the live bytes at a time. */
struct change {
	uint64_t time_ns;
	int64_t bytes;
};

/* All changes for one bound of the peak. */
struct changes {
	struct change *items;
	size_t count;
};

static void add(struct changes *changes, uint64_t time_ns, int64_t bytes)
{
	changes->items[changes->count++] = (struct change){ time_ns, bytes };
}

/* Orders by time; at equal times, frees come first. */
static int frees_first(const void *a, const void *b)
{
	const struct change *first = a, *second = b;

	if (first->time_ns != second->time_ns)
		return first->time_ns < second->time_ns ? -1 : 1;
	return (first->bytes > second->bytes) - (first->bytes < second->bytes);
}

static int allocations_first(const void *a, const void *b)
{
	const struct change *first = a, *second = b;

	return first->time_ns == second->time_ns ? frees_first(b, a) : frees_first(a, b);
}

/* Returns the most live bytes when the changes happen in `order`. */
static uint64_t highest(struct changes *changes, int (*order)(const void *, const void *))
{
	int64_t live_bytes = 0, max_bytes = 0;

	qsort(changes->items, changes->count, sizeof(*changes->items), order);
	for (size_t i = 0; i < changes->count; i++) {
		live_bytes += changes->items[i].bytes;
		max_bytes = live_bytes > max_bytes ? live_bytes : max_bytes;
	}
	return (uint64_t)max_bytes;
}

/*
 * Adds the changes of one thread. The recorder takes the time of a free before the call, and the
 * time of an allocation after the call. Both lie between the call's `begin_ns` and `end_ns`. So for
 * the lower bound (`low`), allocations count at the end and frees at the beginning. For the upper
 * bound (`high`), it is the reverse.
 */
static void add_thread(const struct logged_thread *thread, uint64_t total, struct changes *low,
	struct changes *high)
{
	struct {
		uint64_t address, size_bytes;
	} live[MAX_LIVE_PER_THREAD + 1] = { { 0 } };
	size_t count = 0, at;

	/*
	 * The call that the kill interrupted may have had its effect already. A free that the recording
	 * lost may have had its effect too: another thread may have got the address since.
	 */
	for (uint64_t i = 0; i < total || i <= thread->done; i++) {
		const struct logged_call *call = &thread->calls[i];
		bool is_logged = i < thread->done;

		if (call->size_bytes && i >= total)
			continue;
		if (call->size_bytes) {
			add(high, call->begin_ns, (int64_t)call->size_bytes);
			if (is_logged)
				add(low, call->end_ns, (int64_t)call->size_bytes);
			if (is_logged && count < MAX_LIVE_PER_THREAD) {
				live[count].address = call->address;
				live[count++].size_bytes = call->size_bytes;
			}
			continue;
		}
		for (at = 0; at < count && live[at].address != call->address; at++)
			;
		if (at == count)
			continue; /* the thread had not begun another call */
		add(low, call->begin_ns, -(int64_t)live[at].size_bytes);
		if (i < total && is_logged)
			add(high, call->end_ns, -(int64_t)live[at].size_bytes);
		live[at] = live[--count];
	}
}

bool compute_peak_bounds(const struct comparison *comparison, uint64_t *ret_min_bytes,
	uint64_t *ret_max_bytes)
{
	struct changes low = { 0 }, high = { 0 };
	size_t calls = 0;
	bool has_memory;

	for (size_t i = 0; i < LOGGED_THREADS; i++)
		calls += comparison->parts[i].total + MAX_LIVE_PER_THREAD;
	low.items = malloc(calls * sizeof(*low.items));
	high.items = malloc(calls * sizeof(*high.items));
	has_memory = low.items && high.items;
	for (size_t i = 0; i < LOGGED_THREADS && has_memory; i++)
		add_thread(&comparison->call_log->threads[i], comparison->parts[i].total, &low, &high);
	if (has_memory) {
		*ret_min_bytes = highest(&low, frees_first);
		*ret_max_bytes = highest(&high, allocations_first);
	}
	free(low.items);
	free(high.items);
	return has_memory;
}

/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "kept_parts.h"

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

static uint64_t highest(struct changes *changes, int (*compare)(const void *, const void *))
{
	int64_t live = 0, max_bytes = 0;

	qsort(changes->items, changes->count, sizeof(*changes->items), compare);
	for (size_t i = 0; i < changes->count; i++) {
		live += changes->items[i].bytes;
		max_bytes = live > max_bytes ? live : max_bytes;
	}
	return (uint64_t)max_bytes;
}

/*
 * Adds the changes of one thread. The recorder's time of a free is before the call, and that of an
 * allocation after the call. Both lie between the two notes of the call. So for the lower bound
 * (`low`) allocations count late and frees early; for the upper bound (`high`) it is the reverse.
 */
static void add_thread(const struct kept_thread *thread, uint64_t total, struct changes *low,
	struct changes *high)
{
	struct {
		uint64_t address, size_bytes;
	} held[KEPT_HELD + 1] = { { 0 } };
	size_t count = 0, at;

	/*
	 * The call that the kill interrupted may have had its effect already. So may a free that the
	 * recording lost: another thread may have allocated at the same address since.
	 */
	for (uint64_t i = 0; i < total || i <= thread->done; i++) {
		const struct kept_call *call = &thread->calls[i];
		bool is_noted = i < thread->done;

		if (call->size_bytes && i >= total)
			continue;
		if (call->size_bytes) {
			add(high, call->begin_ns, (int64_t)call->size_bytes);
			if (is_noted)
				add(low, call->end_ns, (int64_t)call->size_bytes);
			if (is_noted && count < KEPT_HELD) {
				held[count].address = call->address;
				held[count++].size_bytes = call->size_bytes;
			}
			continue;
		}
		for (at = 0; at < count && held[at].address != call->address; at++)
			;
		if (at == count)
			continue; /* the thread had not begun another call */
		add(low, call->begin_ns, -(int64_t)held[at].size_bytes);
		if (i < total && is_noted)
			add(high, call->end_ns, -(int64_t)held[at].size_bytes);
		held[at] = held[--count];
	}
}

bool kept_peak(const struct kept_case *kept_case, uint64_t *ret_least_bytes,
	uint64_t *ret_most_bytes)
{
	struct changes low = { 0 }, high = { 0 };
	size_t calls = 0;
	bool has_memory;

	for (size_t i = 0; i < KEPT_THREADS; i++)
		calls += kept_case->parts[i].total + KEPT_HELD;
	low.items = malloc(calls * sizeof(*low.items));
	high.items = malloc(calls * sizeof(*high.items));
	has_memory = low.items && high.items;
	for (size_t i = 0; i < KEPT_THREADS && has_memory; i++)
		add_thread(&kept_case->kept->threads[i], kept_case->parts[i].total, &low, &high);
	if (has_memory) {
		*ret_least_bytes = highest(&low, frees_first);
		*ret_most_bytes = highest(&high, allocations_first);
	}
	free(low.items);
	free(high.items);
	return has_memory;
}

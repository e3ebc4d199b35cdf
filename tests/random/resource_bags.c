/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "random_calls.h"

/* The bags with all resources of the program, and the random numbers. */

static struct bag {
	struct resource resources[BAG_CAPACITY];
	unsigned count;
} bags[RESOURCE_KINDS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* SplitMix64. */
uint64_t draw(struct worker *worker, uint64_t below)
{
	uint64_t x = worker->seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (x ^ x >> 31) % below;
}

size_t draw_size(struct worker *worker)
{
	/* Sizes are spread evenly over the powers of two. */
	return 1 + draw(worker, (size_t)1 << (1 + draw(worker, 23)));
}

size_t draw_wrong_size(struct worker *worker)
{
	static const size_t sizes[] = { 0, (size_t)1 << 40, SIZE_MAX, SIZE_MAX - 511, (size_t)1 << 63,
		SIZE_MAX / 2 };

	return sizes[draw(worker, sizeof(sizes) / sizeof(*sizes))];
}

size_t draw_units(struct worker *worker)
{
	return (1 + draw(worker, 6)) * UNIT_BYTES;
}

static bool pick(struct worker *worker, enum resource_kind kind, bool is_taken,
	struct resource *ret_resource)
{
	struct bag *bag = &bags[kind];
	bool found;

	pthread_mutex_lock(&mutex);
	found = bag->count;
	if (found) {
		unsigned index = (unsigned)draw(worker, bag->count);

		*ret_resource = bag->resources[index];
		if (is_taken)
			bag->resources[index] = bag->resources[--bag->count];
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

bool take(struct worker *worker, enum resource_kind kind, struct resource *ret_resource)
{
	return pick(worker, kind, true, ret_resource);
}

bool peek(struct worker *worker, enum resource_kind kind, struct resource *ret_resource)
{
	return pick(worker, kind, false, ret_resource);
}

bool bag_has_space(enum resource_kind kind)
{
	bool has;

	/* Keeps some space for resources that threads took out and will put back. */
	pthread_mutex_lock(&mutex);
	has = bags[kind].count < BAG_CAPACITY - 8;
	pthread_mutex_unlock(&mutex);
	return has;
}

void put(enum resource_kind kind, const struct resource *resource)
{
	struct bag *bag = &bags[kind];

	pthread_mutex_lock(&mutex);
	if (bag->count < BAG_CAPACITY)
		bag->resources[bag->count++] = *resource;
	pthread_mutex_unlock(&mutex);
}

void forget_context(CUcontext context)
{
	pthread_mutex_lock(&mutex);
	for (int kind = 0; kind < RESOURCE_KINDS; kind++)
		for (unsigned i = bags[kind].count; i-- > 0;)
			if (bags[kind].resources[i].context == context)
				bags[kind].resources[i] = bags[kind].resources[--bags[kind].count];
	pthread_mutex_unlock(&mutex);
}

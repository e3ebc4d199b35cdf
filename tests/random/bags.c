/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "random_calls.h"

/* The bags with all things of the program, and random numbers. */

static struct bag {
	struct thing things[BAG_CAPACITY];
	unsigned count;
} bags[WHATS];

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

static bool pick(struct worker *worker, enum what what, bool is_taken, struct thing *ret_thing)
{
	struct bag *bag = &bags[what];
	bool found;

	pthread_mutex_lock(&mutex);
	found = bag->count;
	if (found) {
		unsigned index = (unsigned)draw(worker, bag->count);

		*ret_thing = bag->things[index];
		if (is_taken)
			bag->things[index] = bag->things[--bag->count];
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

bool take(struct worker *worker, enum what what, struct thing *ret_thing)
{
	return pick(worker, what, true, ret_thing);
}

bool look(struct worker *worker, enum what what, struct thing *ret_thing)
{
	return pick(worker, what, false, ret_thing);
}

bool bag_has_space(enum what what)
{
	bool has;

	/* Keeps some space for things that threads have taken out and will put back. */
	pthread_mutex_lock(&mutex);
	has = bags[what].count < BAG_CAPACITY - 8;
	pthread_mutex_unlock(&mutex);
	return has;
}

void put(enum what what, const struct thing *thing)
{
	struct bag *bag = &bags[what];

	/* A thing that does not fit leaks, as in real programs. */
	pthread_mutex_lock(&mutex);
	if (bag->count < BAG_CAPACITY)
		bag->things[bag->count++] = *thing;
	pthread_mutex_unlock(&mutex);
}

void forget_context(CUcontext context)
{
	pthread_mutex_lock(&mutex);
	for (int what = 0; what < WHATS; what++)
		for (unsigned i = bags[what].count; i-- > 0;)
			if (bags[what].things[i].context == context)
				bags[what].things[i] = bags[what].things[--bags[what].count];
	pthread_mutex_unlock(&mutex);
}

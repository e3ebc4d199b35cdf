/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_CACHE_H
#define GMT_PYTHON_PYTHON_CACHE_H

/*
 * Remembers the frame id of a place in a code object, so that names and lines are read once. Shared
 * by all threads without locks: an entry is read whole or not at all, and a thread that finds one
 * being written goes without. Internal to python*.c.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GMT_PYTHON_CACHE_SET_BITS = 11, /* 8192 places, 256 KiB: PyTorch's training loops use some hundreds */
	GMT_PYTHON_CACHE_WAYS = 4,
};

/*
 * Code objects die unseen, and another one may take the address: the fingerprint tells them apart.
 */
struct gmt_python_key {
	uint64_t code;        /* address */
	uint64_t instr;       /* byte of the code */
	uint64_t fingerprint; /* of what the code object is */
};

/*
 * `turn` is odd while the entry is being written. A reader takes what lies between two equal even
 * values of it. All loads acquire and all stores release, so that neither side needs a fence: on
 * x86-64 these are plain moves.
 */
struct gmt_python_cache_entry {
	_Atomic uint32_t turn;
	_Atomic uint32_t id; /* 0: empty */
	_Atomic uint64_t code, instr, fingerprint;
};

struct gmt_python_cache {
	struct gmt_python_cache_entry sets[1 << GMT_PYTHON_CACHE_SET_BITS][GMT_PYTHON_CACHE_WAYS];
};

/* An empty cache; NULL when there is no memory for it. Lives as long as the process. */
struct gmt_python_cache *gmt_python_cache_open(void);

/* Adds the id of `key`, in place of another when there is no room. May do nothing. */
void gmt_python_cache_add(struct gmt_python_cache *cache, const struct gmt_python_key *key, uint32_t id);

/* Forgets all. No other thread may use the cache meanwhile. */
void gmt_python_cache_clear(struct gmt_python_cache *cache);

static inline struct gmt_python_cache_entry *gmt_python_cache_set(struct gmt_python_cache *cache,
	const struct gmt_python_key *key)
{
	uint64_t hash = (key->code ^ key->instr << 32) * 0x9e3779b97f4a7c15;

	return cache->sets[hash >> (64 - GMT_PYTHON_CACHE_SET_BITS)];
}

/* The id that was added for `key`; 0 when it is not there (any more). Here, because it runs once a frame. */
static inline uint32_t gmt_python_cache_find(struct gmt_python_cache *cache, const struct gmt_python_key *key)
{
	struct gmt_python_cache_entry *set = gmt_python_cache_set(cache, key);

	for (uint32_t way = 0; way < GMT_PYTHON_CACHE_WAYS; way++) {
		struct gmt_python_cache_entry *entry = &set[way];
		/* Pairs with the last store of gmt_python_cache_add: what was written in this turn is here. */
		uint32_t turn = atomic_load_explicit(&entry->turn, memory_order_acquire);
		/*
		 * Each pairs with its own store in gmt_python_cache_add: a value of a later turn shows,
		 * by the load of `turn` behind, that the turn has changed.
		 */
		uint64_t code = atomic_load_explicit(&entry->code, memory_order_acquire);
		uint64_t instr = atomic_load_explicit(&entry->instr, memory_order_acquire);
		uint64_t fingerprint = atomic_load_explicit(&entry->fingerprint, memory_order_acquire);
		uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);

		if (code == key->code && instr == key->instr && fingerprint == key->fingerprint && !(turn & 1) &&
			atomic_load_explicit(&entry->turn, memory_order_relaxed) == turn)
			return id;
	}
	return 0;
}

#endif

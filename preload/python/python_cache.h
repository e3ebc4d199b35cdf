/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_CACHE_H
#define GMT_PYTHON_PYTHON_CACHE_H

/*
 * Caches the depot id of the frame at a position in a code object, so that names and lines are read
 * only once. All threads share the cache without locks. gmt_python_cache_find skips an entry that
 * another thread is writing. Internal to python*.c.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* 8192 positions, 256 KiB; PyTorch's training loops use some hundreds */
	GMT_PYTHON_CACHE_SET_BITS = 11,
	GMT_PYTHON_CACHE_WAYS = 4,
};

/*
 * The key of a position. Python may free a code object and place another at its address. Their
 * fingerprints differ.
 */
struct gmt_python_key {
	uint64_t code;        /* address */
	uint64_t instr;       /* offset in the bytecode, in bytes */
	uint64_t fingerprint; /* of the code object */
};

/*
 * An entry. `sequence` is odd while a thread writes the entry. The values are valid if `sequence`
 * is even and the same before and after their loads. All loads acquire and all stores release, so
 * neither side needs a fence. On x86-64 these are plain moves.
 */
struct gmt_python_cache_entry {
	_Atomic uint32_t sequence;
	_Atomic uint32_t id; /* 0: empty */
	_Atomic uint64_t code, instr, fingerprint;
};

struct gmt_python_cache {
	struct gmt_python_cache_entry sets[1 << GMT_PYTHON_CACHE_SET_BITS][GMT_PYTHON_CACHE_WAYS];
};

/* Returns an empty cache; NULL if there is no memory. The cache lives as long as the process. */
struct gmt_python_cache *gmt_python_cache_create(void);

/* Adds the id of `key`. Replaces another entry if its set is full. May do nothing. */
void gmt_python_cache_add(struct gmt_python_cache *cache, const struct gmt_python_key *key,
	uint32_t id);

/* Clears the cache. No other thread may use the cache during this call. */
void gmt_python_cache_clear(struct gmt_python_cache *cache);

/* Returns the set that may hold `key`. */
static inline struct gmt_python_cache_entry *gmt_python_cache_set(struct gmt_python_cache *cache,
	const struct gmt_python_key *key)
{
	uint64_t hash = (key->code ^ key->instr << 32) * 0x9e3779b97f4a7c15;

	return cache->sets[hash >> (64 - GMT_PYTHON_CACHE_SET_BITS)];
}

/*
 * Returns the id that was added for `key`; 0 if the cache does not hold it. Inline, because it runs
 * once for each frame.
 */
static inline uint32_t gmt_python_cache_find(struct gmt_python_cache *cache,
	const struct gmt_python_key *key)
{
	struct gmt_python_cache_entry *set = gmt_python_cache_set(cache, key);

	for (uint32_t way = 0; way < GMT_PYTHON_CACHE_WAYS; way++) {
		struct gmt_python_cache_entry *entry = &set[way];
		/*
		 * Pairs with the last store of gmt_python_cache_add: all values of this write are visible.
		 */
		uint32_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
		/*
		 * Each load pairs with its own store in gmt_python_cache_add. If a load returns a value of
		 * a later write, the second load of `sequence` below returns another number.
		 */
		uint64_t code = atomic_load_explicit(&entry->code, memory_order_acquire);
		uint64_t instr = atomic_load_explicit(&entry->instr, memory_order_acquire);
		uint64_t fingerprint = atomic_load_explicit(&entry->fingerprint, memory_order_acquire);
		uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);

		if (code == key->code && instr == key->instr && fingerprint == key->fingerprint &&
			!(sequence & 1) &&
			atomic_load_explicit(&entry->sequence, memory_order_relaxed) == sequence)
			return id;
	}
	return 0;
}

#endif

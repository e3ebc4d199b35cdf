/* SPDX-License-Identifier: MIT */
#include "capture/python_cache.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/hash.h"

enum {
	SETS = 2048, /* 8192 places, 256 KiB: PyTorch's training loops use some hundreds */
	WAYS = 4,
};

/*
 * Odd while it is being written. A reader takes what lies between two equal even values of `turn`.
 * All loads acquire and all stores release, so that neither side needs a fence: on x86-64 these are
 * plain moves.
 */
struct entry {
	_Atomic uint32_t turn;
	_Atomic uint32_t id; /* 0: empty */
	_Atomic uint64_t code, instr, fingerprint;
};

static_assert(sizeof(struct entry) == 32, "a set is two cache lines");

struct gmt_python_cache {
	struct entry sets[SETS][WAYS];
};

static struct entry *set_of(struct gmt_python_cache *cache, const struct gmt_python_key *key)
{
	return cache->sets[gmt_hash_fold(key->code ^ 0xa0761d6478bd642f, key->instr ^ 0xe7037ed1a0b428db) % SETS];
}

struct gmt_python_cache *gmt_python_cache_open(void)
{
	void *memory = mmap(NULL, sizeof(struct gmt_python_cache), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

uint32_t gmt_python_cache_find(struct gmt_python_cache *cache, const struct gmt_python_key *key)
{
	struct entry *set = set_of(cache, key);

	for (uint32_t way = 0; way < WAYS; way++) {
		struct entry *entry = &set[way];
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

/* Which entry to lose when all are taken: each thread goes round for itself. */
static _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t next_victim;

void gmt_python_cache_add(struct gmt_python_cache *cache, const struct gmt_python_key *key, uint32_t id)
{
	struct entry *set = set_of(cache, key);
	struct entry *entry = NULL;

	for (uint32_t way = 0; way < WAYS && !entry; way++) {
		/* A guess only; orders nothing. */
		if (!atomic_load_explicit(&set[way].id, memory_order_relaxed))
			entry = &set[way];
	}
	if (!entry)
		entry = &set[next_victim++ % WAYS];

	uint32_t turn = atomic_load_explicit(&entry->turn, memory_order_relaxed);

	/* One writer at a time; the one that comes second leaves it. */
	if (turn & 1 || !atomic_compare_exchange_strong_explicit(&entry->turn, &turn, turn + 1,
		memory_order_acquire, memory_order_relaxed))
		return;
	/* Each pairs with its own load in gmt_python_cache_find: behind the odd turn, for who sees them. */
	atomic_store_explicit(&entry->code, key->code, memory_order_release);
	atomic_store_explicit(&entry->instr, key->instr, memory_order_release);
	atomic_store_explicit(&entry->fingerprint, key->fingerprint, memory_order_release);
	atomic_store_explicit(&entry->id, id, memory_order_release);
	/* Pairs with the first load in gmt_python_cache_find. */
	atomic_store_explicit(&entry->turn, turn + 2, memory_order_release);
}

void gmt_python_cache_clear(struct gmt_python_cache *cache)
{
	/* Also frees an entry that another thread was writing when this process was forked. */
	memset(cache, 0, sizeof(*cache));
}

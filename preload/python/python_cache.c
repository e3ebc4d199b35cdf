/* SPDX-License-Identifier: MIT */
#include "python/python_cache.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

static_assert(sizeof(struct gmt_python_cache_entry) == 32, "a set is two cache lines");

struct gmt_python_cache *gmt_python_cache_create(void)
{
	void *memory = mmap(NULL, sizeof(struct gmt_python_cache), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* The next way to replace in a full set. Each thread has its own. */
static _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t next_way;

void gmt_python_cache_add(struct gmt_python_cache *cache, const struct gmt_python_key *key,
	uint32_t id)
{
	struct gmt_python_cache_entry *set = gmt_python_cache_set(cache, key);
	struct gmt_python_cache_entry *entry = NULL;

	for (uint32_t way = 0; way < GMT_PYTHON_CACHE_WAYS && !entry; way++) {
		/* A stale value only selects a worse entry, so relaxed order is enough. */
		if (!atomic_load_explicit(&set[way].id, memory_order_relaxed))
			entry = &set[way];
	}
	if (!entry)
		entry = &set[next_way++ % GMT_PYTHON_CACHE_WAYS];

	uint32_t sequence = atomic_load_explicit(&entry->sequence, memory_order_relaxed);

	/* If another thread is writing this entry, adds nothing. */
	if (sequence & 1 ||
		!atomic_compare_exchange_strong_explicit(&entry->sequence, &sequence, sequence + 1,
			memory_order_acquire, memory_order_relaxed))
		return;
	/*
	 * Each store pairs with its own load in gmt_python_cache_find: a thread that sees one of these
	 * values also sees the odd `sequence`.
	 */
	atomic_store_explicit(&entry->code, key->code, memory_order_release);
	atomic_store_explicit(&entry->instr, key->instr, memory_order_release);
	atomic_store_explicit(&entry->fingerprint, key->fingerprint, memory_order_release);
	atomic_store_explicit(&entry->id, id, memory_order_release);
	/* Pairs with the first load in gmt_python_cache_find. */
	atomic_store_explicit(&entry->sequence, sequence + 2, memory_order_release);
}

void gmt_python_cache_clear(struct gmt_python_cache *cache)
{
	/* Also releases an entry that another thread was writing when this process was forked. */
	memset(cache, 0, sizeof(*cache));
}

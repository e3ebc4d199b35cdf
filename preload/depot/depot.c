/* SPDX-License-Identifier: MIT */
#include "depot/depot.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "depot/hash.h"

/*
 * The hash table uses open addressing and linear probing. A slot is one word: a 32-bit tag from the
 * hash, and the 32-bit id. So one access reads or publishes it, and most comparisons need no access
 * to the arena. The table takes 8 MiB of address space. Only touched pages take memory.
 */
enum {
	SLOT_COUNT = 1 << 20,
	/* With more entries, probes would get long, so the depot refuses new entries. */
	SLOT_LIMIT = SLOT_COUNT / 8 * 7,
	RECENT_COUNT = 1 << 12,
};

struct gmt_depot {
	union {
		char *arena;
		struct gmt_depot_head *head;
	};
	uint64_t size_bytes;
	_Atomic uint64_t ready_bytes;
	uint64_t high_water_bytes;
	void (*at_high_water)(void); /* NULL: no function is set */
	_Atomic uint32_t entry_count;
	_Atomic uint64_t slots[SLOT_COUNT];
	/*
	 * A cache of the last found entries, with the same words as slots[]. A program repeats its
	 * stacks, and each may be on a different page of the table. This cache needs only eight pages.
	 */
	_Atomic uint64_t recent[RECENT_COUNT];
};

static_assert(sizeof(struct gmt_depot_entry) % GMT_DEPOT_ID_BYTES == 0,
	"an entry's bytes are aligned like the entry");

/* Rounds up to a multiple of GMT_DEPOT_ID_BYTES. */
static uint64_t round_to_id(uint64_t bytes)
{
	return (bytes + GMT_DEPOT_ID_BYTES - 1) & ~(uint64_t)(GMT_DEPOT_ID_BYTES - 1);
}

struct gmt_depot *gmt_depot_open(void *arena, uint64_t size_bytes, uint64_t ready_bytes)
{
	struct gmt_depot *depot = mmap(NULL, sizeof(*depot), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (depot == MAP_FAILED)
		return NULL;
	depot->arena = arena;
	depot->size_bytes = size_bytes < GMT_DEPOT_MAX_BYTES ? size_bytes : GMT_DEPOT_MAX_BYTES;
	/* No other thread uses the depot yet. */
	atomic_store_explicit(&depot->head->used_bytes, sizeof(*depot->head), memory_order_relaxed);
	gmt_depot_set_ready(depot, ready_bytes);
	return depot;
}

void gmt_depot_close(struct gmt_depot *depot)
{
	munmap(depot, sizeof(*depot));
}

void gmt_depot_set_ready(struct gmt_depot *depot, uint64_t ready_bytes)
{
	if (ready_bytes > depot->size_bytes)
		ready_bytes = depot->size_bytes;
	/*
	 * Pairs with the acquire in allocate: a thread that sees the new limit also sees the file space
	 * behind it.
	 */
	atomic_store_explicit(&depot->ready_bytes, ready_bytes, memory_order_release);
}

void gmt_depot_set_high_water_callback(struct gmt_depot *depot, uint64_t used_bytes,
	void (*work)(void))
{
	depot->high_water_bytes = used_bytes;
	depot->at_high_water = work;
}

uint64_t gmt_depot_used_bytes(const struct gmt_depot *depot)
{
	/* Only for reports, so no order is needed. */
	return atomic_load_explicit(&depot->head->used_bytes, memory_order_relaxed);
}

struct gmt_depot_entry *gmt_depot_get(const struct gmt_depot *depot, uint32_t id)
{
	return (struct gmt_depot_entry *)(void *)(depot->arena + (uint64_t)id * GMT_DEPOT_ID_BYTES);
}

/* Allocates an entry in the arena. Returns its id, or 0 if there is no room. */
static uint32_t allocate(struct gmt_depot *depot, uint32_t length)
{
	uint64_t need = sizeof(struct gmt_depot_entry) + round_to_id(length);
	/* Pairs with the release in gmt_depot_set_ready. */
	uint64_t ready = atomic_load_explicit(&depot->ready_bytes, memory_order_acquire);
	uint64_t start = atomic_load_explicit(&depot->head->used_bytes, memory_order_relaxed);

	/*
	 * Not a fetch_add: one large entry would push used_bytes past the end, and all later, smaller
	 * entries would fail forever. The exchange only assigns room. The slot publishes the entry.
	 */
	do {
		if (start + need > ready)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&depot->head->used_bytes, &start, start + need,
		memory_order_relaxed, memory_order_relaxed));
	/* Only one thread sees its entry cross the limit. */
	if (depot->at_high_water && start <= depot->high_water_bytes &&
		start + need > depot->high_water_bytes)
		depot->at_high_water();
	return (uint32_t)(start / GMT_DEPOT_ID_BYTES);
}

static uint32_t add_entry(struct gmt_depot *depot, enum gmt_depot_kind kind, const void *bytes,
	uint32_t length, uint32_t tag)
{
	/* Relaxed: concurrent threads may exceed the limit, each by one entry. */
	if (atomic_load_explicit(&depot->entry_count, memory_order_relaxed) >= SLOT_LIMIT)
		return 0;

	uint32_t id = allocate(depot, length);

	if (!id)
		return 0;

	struct gmt_depot_entry *entry = gmt_depot_get(depot, id);

	entry->length = length;
	entry->kind = (uint8_t)kind;
	entry->hash = tag;
	memcpy(entry + 1, bytes, length);
	return id;
}

static bool same_entry(const struct gmt_depot_entry *entry, enum gmt_depot_kind kind,
	const void *bytes, uint32_t length)
{
	return entry->length == length && entry->kind == kind && !memcmp(entry + 1, bytes, length);
}

uint32_t gmt_depot_intern(struct gmt_depot *depot, enum gmt_depot_kind kind, const void *bytes,
	uint32_t length)
{
	return gmt_depot_intern_hashed(depot, kind, bytes, length,
		gmt_depot_hash_bytes(kind, bytes, length));
}

static uint32_t intern_in_table(struct gmt_depot *depot, enum gmt_depot_kind kind,
	const void *bytes, uint32_t length, uint64_t hash)
{
	uint32_t tag = (uint32_t)(hash >> 32);
	uint32_t slot = (uint32_t)hash % SLOT_COUNT;
	uint32_t added = 0;

	/* The loop ends: the table always has free slots, and entries are never removed. */
	for (;; slot = (slot + 1) % SLOT_COUNT) {
		/*
		 * Pairs with the release below: if a slot contains an id, the bytes of its entry are
		 * visible.
		 */
		uint64_t found = atomic_load_explicit(&depot->slots[slot], memory_order_acquire);

		if (!found) {
			if (!added)
				added = add_entry(depot, kind, bytes, length, tag);
			if (!added)
				return 0;
			/*
			 * Release: pairs with the acquire above in other threads. Acquire on failure: the next
			 * step compares the winner's entry.
			 */
			if (atomic_compare_exchange_strong_explicit(&depot->slots[slot], &found,
					(uint64_t)tag << 32 | added, memory_order_release, memory_order_acquire)) {
				atomic_fetch_add_explicit(&depot->entry_count, 1, memory_order_relaxed);
				return added;
			}
		}
		/*
		 * If another thread has added an equal entry, this thread's copy stays in the arena unused.
		 */
		if ((uint32_t)(found >> 32) == tag &&
			same_entry(gmt_depot_get(depot, (uint32_t)found), kind, bytes, length))
			return (uint32_t)found;
	}
}

uint32_t gmt_depot_intern_hashed(struct gmt_depot *depot, enum gmt_depot_kind kind,
	const void *bytes, uint32_t length, uint64_t hash)
{
	_Atomic uint64_t *recent = &depot->recent[hash % RECENT_COUNT];
	/* Pairs with the release below, as in the table. */
	uint64_t found = atomic_load_explicit(recent, memory_order_acquire);
	uint32_t tag = (uint32_t)(hash >> 32), id;

	if (found && (uint32_t)(found >> 32) == tag &&
		same_entry(gmt_depot_get(depot, (uint32_t)found), kind, bytes, length))
		return (uint32_t)found;
	id = intern_in_table(depot, kind, bytes, length, hash);
	if (id)
		atomic_store_explicit(recent, (uint64_t)tag << 32 | id, memory_order_release);
	return id;
}

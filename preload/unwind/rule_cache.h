/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_RULE_CACHE_H
#define GMT_UNWIND_RULE_CACHE_H

/*
 * Caches, for all threads, the unwind rule of each return address that was found on a stack. In the
 * flow: walk -> rule_cache -> eh_frame (once for each address). x86-64 only; on other architectures
 * the table does not exist (gmt_rule_cache_sets is NULL).
 *
 * The table has no locks. One word is one entry, which holds the whole address and the whole rule,
 * so threads read and replace an entry atomically. The table holds only addresses in loaded
 * objects. These entries are correct for as long as the object stays loaded. When an object is
 * unloaded, the whole table is cleared:
 *
 * 	gmt_rule_cache_pause();
 * 	... the object is unloaded ...
 * 	gmt_rule_cache_resume(was_something_unloaded);
 *
 * During the pause, no thread gets a rule (gmt_rule_cache_begin). This is sufficient:
 *
 * - A thread may have begun a walk before the pause. All objects whose addresses it looks up are on
 *   its own stack, so they stay loaded until the walk has ended. So the rules that it finds or adds
 *   are correct.
 * - A new object may be loaded at the addresses of the old object. A thread can have code of the
 * new
 *   object on its stack only after the old object was unloaded, so after the pause began. So this
 *   thread sees the pause, or a later state of the table.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind_rule.h"
#include "runtime/hidden.h"

enum {
	GMT_RULES_SET_BITS = 13,
	GMT_RULES_WAYS = 8,         /* entries of a set: one cache line */
	GMT_RULES_ADDRESS_BITS = 47, /* bits of an address in user space */
};

/* NULL: no memory, or another architecture. */
extern GMT_HIDDEN _Atomic uint64_t (*gmt_rule_cache_sets)[GMT_RULES_WAYS];

extern GMT_HIDDEN struct gmt_rule_cache {
	_Atomic uint32_t pauses; /* number of pauses now: objects that are being unloaded */
	_Atomic uint32_t generation; /* generation of all rules; counts from 1 */
} gmt_rule_cache;

/*
 * Initializes the table. Call it once, before all other functions of this file. `find` is the
 * original dlsym(RTLD_DEFAULT, name).
 */
void gmt_rule_cache_init(void *(*find)(const char *name));

/* Begins a pause: from here on no thread gets a rule. Pauses may overlap. */
void gmt_rule_cache_pause(void);
/* Ends a pause. If an object was unloaded, clears the table and starts a new generation. */
void gmt_rule_cache_resume(bool was_something_unloaded);

/* Slow path of gmt_rule_cache_find: reads the unwind tables and adds the rule. */
struct gmt_unwind_rule gmt_rule_cache_read_tables(uint64_t return_address);

/*
 * Returns whether the caller may look up rules, until this thread's stack changes. Stores the
 * generation of the rules in *ret_generation. A result is valid only for the generation of its
 * rules.
 */
static inline bool gmt_rule_cache_begin(uint32_t *ret_generation)
{
	/*
	 * Pairs with the release in gmt_rule_cache_resume: a thread that sees the end of a pause also
	 * sees the new generation.
	 */
	if (atomic_load_explicit(&gmt_rule_cache.pauses, memory_order_acquire))
		return false;
	*ret_generation = atomic_load_explicit(&gmt_rule_cache.generation, memory_order_relaxed);
	return gmt_rule_cache_sets != NULL;
}

/* Returns whether no object is being unloaded and the rules still are of `generation`. */
static inline bool gmt_rule_cache_unchanged(uint32_t generation)
{
	/* Acquire for the same reason as in gmt_rule_cache_begin. */
	return !atomic_load_explicit(&gmt_rule_cache.pauses, memory_order_acquire) &&
		atomic_load_explicit(&gmt_rule_cache.generation, memory_order_relaxed) == generation;
}

/*
 * Mixes an address of user space into a set number and a tag. It multiplies by an odd number, so
 * different addresses give different results.
 */
static inline uint64_t gmt_rule_cache_mix(uint64_t address)
{
	return address * 0x9e3779b97f4a7c15 & (((uint64_t)1 << GMT_RULES_ADDRESS_BITS) - 1);
}

/* Returns the set of a mixed address. */
static inline _Atomic uint64_t *gmt_rule_cache_set(uint64_t mixed)
{
	return gmt_rule_cache_sets[mixed >> (GMT_RULES_ADDRESS_BITS - GMT_RULES_SET_BITS)];
}

/* Returns the tag, shifted to its position in an entry. */
static inline uint64_t gmt_rule_cache_tag(uint64_t mixed)
{
	return mixed << (GMT_RULES_SET_BITS + 64 - GMT_RULES_ADDRESS_BITS);
}

enum { GMT_RULES_TAG_SHIFT = 64 - (GMT_RULES_ADDRESS_BITS - GMT_RULES_SET_BITS) };

_Static_assert((int)GMT_UNWIND_RULE_BITS <= (int)GMT_RULES_TAG_SHIFT, "an entry has room for both");

/*
 * Returns the rule of the frame at `return_address`, or GMT_UNWIND_NONE if no loaded object holds
 * that address. Call it after gmt_rule_cache_begin, or for code that is never unloaded. No lock, no
 * memory.
 */
static inline struct gmt_unwind_rule gmt_rule_cache_find(uint64_t return_address)
{
	if (return_address >> GMT_RULES_ADDRESS_BITS)
		return (struct gmt_unwind_rule){ .kind = GMT_UNWIND_NONE };

	uint64_t mixed = gmt_rule_cache_mix(return_address), tag = gmt_rule_cache_tag(mixed);
	_Atomic uint64_t *set = gmt_rule_cache_set(mixed);

	for (unsigned way = 0; way < GMT_RULES_WAYS; way++) {
		/* An entry is complete by itself, so the load orders no other memory. */
		uint64_t entry = atomic_load_explicit(&set[way], memory_order_relaxed);

		if ((entry ^ tag) >> GMT_RULES_TAG_SHIFT == 0 && (uint32_t)entry)
			return gmt_unwind_rule_unpack((uint32_t)entry);
	}
	return gmt_rule_cache_read_tables(return_address);
}

#endif

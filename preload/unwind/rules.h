/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_RULES_H
#define GMT_UNWIND_RULES_H

/*
 * Remembers the unwind rule of each return address that was ever on a stack, for all threads. In the flow: walk ->
 * rules -> (tables of the loaded object, once). x86-64 only; elsewhere there are none (gmt_rules_sets).
 *
 * No locks: an entry is one word, which holds the whole address and the whole rule, so it is read and replaced at once.
 * Only addresses in loaded objects are remembered, and they are right for as long as the object is loaded. When one
 * is unloaded, all is forgotten:
 *
 *	gmt_rules_pause();
 *	... the object goes ...
 *	gmt_rules_resume(was_something_unloaded);
 *
 * and meanwhile no rule is given to anybody (gmt_rules_begin). That is enough. A thread that has begun before the pause
 * has all of its objects on its own stack, where they stay loaded until it is through: what it finds is right and what it
 * adds is too. A thread that has code of a new object on its stack, at the addresses of the old one, has got it from
 * the loader, after the old one went, so after the pause began: it sees the pause, or what came after it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind_rule.h"
#include "runtime/hidden.h"

enum {
	GMT_RULES_SET_BITS = 13,
	GMT_RULES_WAYS = 8,         /* a cache line */
	GMT_RULES_ADDRESS_BITS = 47, /* of user space */
};

extern GMT_HIDDEN _Atomic uint64_t (*gmt_rules_sets)[GMT_RULES_WAYS]; /* NULL: no memory, or another architecture */

extern GMT_HIDDEN struct gmt_rules {
	_Atomic uint32_t pauses;                 /* objects that are being unloaded now */
	_Atomic uint32_t generation;             /* of all rules; from 1 */
} gmt_rules;

/* Once, before all else; `find` is the real dlsym(RTLD_DEFAULT, name). */
void gmt_rules_init(void *(*find)(const char *name));

void gmt_rules_pause(void);
void gmt_rules_resume(bool was_something_unloaded);

/* In the child of a fork: threads that are not there any more may have been in between. */
void gmt_rules_reset(void);

/* Reads tables and adds what they say; for gmt_rules_find. */
struct gmt_unwind_rule gmt_rules_look(uint64_t return_address);

/*
 * Whether rules may be asked for, until this thread's stack changes; and of which generation they are: what was
 * found out by rules of another one holds no longer.
 */
static inline bool gmt_rules_begin(uint32_t *ret_generation)
{
	/* Pairs with the release in gmt_rules_resume: whoever sees the end of a pause sees the new generation. */
	if (atomic_load_explicit(&gmt_rules.pauses, memory_order_acquire))
		return false;
	*ret_generation = atomic_load_explicit(&gmt_rules.generation, memory_order_relaxed);
	return gmt_rules_sets != NULL;
}

/* Whether no object is being unloaded and rules are of that generation, of which some were given once. */
static inline bool gmt_rules_are(uint32_t generation)
{
	/* As in gmt_rules_begin. */
	return !atomic_load_explicit(&gmt_rules.pauses, memory_order_acquire) &&
		atomic_load_explicit(&gmt_rules.generation, memory_order_relaxed) == generation;
}

/* An address of user space as set and tag: multiplied by an odd number, so that no two are the same. */
static inline uint64_t gmt_rules_mix(uint64_t address)
{
	return address * 0x9e3779b97f4a7c15 & (((uint64_t)1 << GMT_RULES_ADDRESS_BITS) - 1);
}

static inline _Atomic uint64_t *gmt_rules_set(uint64_t mixed)
{
	return gmt_rules_sets[mixed >> (GMT_RULES_ADDRESS_BITS - GMT_RULES_SET_BITS)];
}

/* The tag in its place in an entry. */
static inline uint64_t gmt_rules_tag(uint64_t mixed)
{
	return mixed << (GMT_RULES_SET_BITS + 64 - GMT_RULES_ADDRESS_BITS);
}

enum { GMT_RULES_TAG_SHIFT = 64 - (GMT_RULES_ADDRESS_BITS - GMT_RULES_SET_BITS) };

_Static_assert((int)GMT_UNWIND_RULE_BITS <= (int)GMT_RULES_TAG_SHIFT, "an entry has room for both");

/*
 * The rule for the frame that is returned to at that address; GMT_UNWIND_NONE also where no loaded object is. After
 * gmt_rules_begin, or for code that is never unloaded. No lock, no memory.
 */
static inline struct gmt_unwind_rule gmt_rules_find(uint64_t return_address)
{
	if (return_address >> GMT_RULES_ADDRESS_BITS)
		return (struct gmt_unwind_rule){ .kind = GMT_UNWIND_NONE };

	uint64_t mixed = gmt_rules_mix(return_address), tag = gmt_rules_tag(mixed);
	_Atomic uint64_t *set = gmt_rules_set(mixed);

	for (unsigned way = 0; way < GMT_RULES_WAYS; way++) {
		/* An entry tells all by itself: orders nothing. */
		uint64_t entry = atomic_load_explicit(&set[way], memory_order_relaxed);

		if ((entry ^ tag) >> GMT_RULES_TAG_SHIFT == 0 && (uint32_t)entry)
			return gmt_unwind_rule_unpack((uint32_t)entry);
	}
	return gmt_rules_look(return_address);
}

#endif

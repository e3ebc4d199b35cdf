/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_PYTHON_CACHE_H
#define GMT_CAPTURE_PYTHON_CACHE_H

/*
 * Remembers the frame id of a place in a code object, so that names and lines are read once. Shared
 * by all threads without locks: an entry is read whole or not at all, and a thread that finds one
 * being written goes without. Internal to python*.c.
 */

#include <stdint.h>

/*
 * Code objects die unseen, and another one may take the address: the fingerprint tells them apart.
 */
struct gmt_python_key {
	uint64_t code;        /* address */
	uint64_t instr;       /* byte of the code */
	uint64_t fingerprint; /* of what the code object is */
};

struct gmt_python_cache;

/* An empty cache; NULL when there is no memory for it. Lives as long as the process. */
struct gmt_python_cache *gmt_python_cache_open(void);

/* The id that was added for `key`; 0 when it is not there (any more). */
uint32_t gmt_python_cache_find(struct gmt_python_cache *cache, const struct gmt_python_key *key);

/* Adds the id of `key`, in place of another when there is no room. May do nothing. */
void gmt_python_cache_add(struct gmt_python_cache *cache, const struct gmt_python_key *key, uint32_t id);

/* Forgets all. No other thread may use the cache meanwhile. */
void gmt_python_cache_clear(struct gmt_python_cache *cache);

#endif

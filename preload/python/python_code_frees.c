/* SPDX-License-Identifier: MIT */
#include "python/python_code_frees.h"

#include <stddef.h>
#include <string.h>

#include "runtime/hot_data.h"

/*
 * Offsets in a type, behind its header: its name, then two sizes, then the function that frees.
 * They are the same in all versions, except in builds that trace references.
 */
enum { TYPE_NAME = 24, TYPE_FREE = 48 };

bool gmt_python_watches_code = true;

GMT_HOT_DATA _Atomic uint64_t gmt_python_code_free_count;

static void (*original_free)(void *code);

static void count_and_free(void *code)
{
	/* Counts before the memory can belong to another object. */
	atomic_fetch_add_explicit(&gmt_python_code_free_count, 1, memory_order_relaxed);
	original_free(code);
}

void gmt_python_code_frees_watch(gmt_python_find *find)
{
	char *type = find("PyCode_Type"), *name;
	void (*_Atomic * slot)(void *) = (void (*_Atomic *)(void *))(void *)(type + TYPE_FREE);

	if (!type || original_free)
		return;
	memcpy(&name, type + TYPE_NAME, sizeof(name));
	if (!name || (uintptr_t)name < 65536 || strcmp(name, "code") != 0 || !*slot)
		return;
	original_free = *slot;
	atomic_store_explicit(&gmt_python_code_free_count, 1, memory_order_relaxed);
	/*
	 * Needs no acquire in the interpreter: it calls the function under the GIL. `original_free` is
	 * written before this word.
	 */
	atomic_store_explicit(slot, count_and_free, memory_order_release);
}

/* SPDX-License-Identifier: MIT */
/*
 * A library that is opened and closed again and again (loaded_libraries.c). Two builds have the
 * same size, so each may get the addresses of the other.
 */
#include <stddef.h>

int library_allocate(int (*allocate)(void **, size_t), size_t size_bytes);

__attribute__((visibility("default"))) int library_allocate(int (*allocate)(void **, size_t),
	size_t size_bytes)
{
	void *block;

	/* The sum prevents a tail call, so that this function appears in the stack. */
	return allocate(&block, size_bytes) + LIBRARY_NUMBER;
}

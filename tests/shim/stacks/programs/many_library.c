/* SPDX-License-Identifier: MIT */
/*
 * The template of thousands of libraries, which differ in build-id and symbol table
 * (test_many_libraries.py).
 */
#include <stddef.h>

int many_entry(int (*allocate)(void **, size_t), size_t size_bytes);

__attribute__((noinline)) static int many_number_0000(int (*allocate)(void **, size_t),
	size_t size_bytes)
{
	void *block;

	return allocate(&block, size_bytes) * 2;
}

__attribute__((visibility("default"))) int many_entry(int (*allocate)(void **, size_t),
	size_t size_bytes)
{
	/* The product prevents a tail call, so that this function appears in the stack. */
	return many_number_0000(allocate, size_bytes) * 2;
}

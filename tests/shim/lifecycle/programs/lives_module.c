/* SPDX-License-Identifier: MIT */
/*
 * A library that comes and goes (lives_modules.c). Built twice, of one size: each may get the
 * other's addresses.
 */
#include <stddef.h>

int lives_allocate(int (*allocate)(void **, size_t), size_t size_bytes);

__attribute__((visibility("default"))) int lives_allocate(int (*allocate)(void **, size_t),
	size_t size_bytes)
{
	void *block;

	/* Not a jump: this function is to stand in the stack. */
	return allocate(&block, size_bytes) + LIVES_NUMBER;
}

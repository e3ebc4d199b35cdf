/* SPDX-License-Identifier: MIT */
/* Calls back through frames of many kinds. damaged_tables.c damages their unwind tables. */
#include <stddef.h>

typedef int call(void);

__attribute__((visibility("default"))) int damaged_plain(call *back, int depth);
__attribute__((visibility("default"))) int damaged_varying(call *back, int depth);
__attribute__((visibility("default"))) int damaged_aligned(call *back, int depth);
__attribute__((visibility("default"))) int damaged_saving(call *back, int depth);

static void take(volatile void *address)
{
	__asm__ volatile("" : : "r"(address) : "memory");
}

int damaged_plain(call *back, int depth)
{
	return (depth ? damaged_plain(back, depth - 1) : back()) + 1;
}

/* Keeps a frame pointer, because its frame has a variable size. */
int damaged_varying(call *back, int depth)
{
	volatile char *buffer = __builtin_alloca((size_t)depth * 40 + 16);

	take(buffer);
	return (depth ? damaged_varying(back, depth - 1) : back()) + buffer[0] * 0 + 1;
}

/* Has an aligned frame. An unwinder finds the caller's frame by a word that is stored in it. */
int damaged_aligned(call *back, int depth)
{
	_Alignas(64) volatile char buffer[64] = { 1 };
	volatile char *more = __builtin_alloca((size_t)depth * 40 + 16);

	take(buffer);
	take(more);
	return (depth ? damaged_aligned(back, depth - 1) : back()) + buffer[0];
}

/* Uses all registers that a function must preserve for its caller. */
int damaged_saving(call *back, int depth)
{
	int a = depth * 3, b = depth * 5, c = depth * 7, d = depth * 11, e = depth * 13;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));

	int result = depth ? damaged_saving(back, depth - 1) : back();

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	return result + 1 + (a + b + c + d + e) * 0;
}

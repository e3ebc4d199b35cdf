/* SPDX-License-Identifier: MIT */
/* Calls back through frames of many kinds, which damaged_tables.c takes the tables of. */
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

/* Keeps a frame pointer. */
int damaged_varying(call *back, int depth)
{
	volatile char *room = __builtin_alloca((size_t)depth * 40 + 16);

	take(room);
	return (depth ? damaged_varying(back, depth - 1) : back()) + room[0] * 0 + 1;
}

/* Its frame is aligned, and found by a word in it. */
int damaged_aligned(call *back, int depth)
{
	_Alignas(64) volatile char room[64] = { 1 };
	volatile char *more = __builtin_alloca((size_t)depth * 40 + 16);

	take(room);
	take(more);
	return (depth ? damaged_aligned(back, depth - 1) : back()) + room[0];
}

/* All registers that a call keeps are used. */
int damaged_saving(call *back, int depth)
{
	int a = depth * 3, b = depth * 5, c = depth * 7, d = depth * 11, e = depth * 13;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));

	int result = depth ? damaged_saving(back, depth - 1) : back();

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	return result + 1 + (a + b + c + d + e) * 0;
}

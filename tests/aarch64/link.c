/* SPDX-License-Identifier: MIT */
/*
 * One link of a chain of interposers. Compiled with LINK=1, 10 and 100: each adds its number to
 * what the next definition of chain() says; the last has none behind it.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int chain(int depth);
void *ask_next(const char *name);

int chain(int depth)
{
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "chain");

	/* Taken for somebody else, each of us would find the first of us again, for ever. */
	if (depth > 8) {
		printf("the chain runs in a circle\n");
		exit(1);
	}
	return LINK + (next ? next(depth + 1) : 0);
}

#if LINK == 1
/* Asked from the first library: its answer is another than the program's. */
void *ask_next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	__asm__ volatile("" : : "r"(found)); /* a tail call would leave the program's return address */
	return found;
}
#endif

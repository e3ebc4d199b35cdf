/* SPDX-License-Identifier: MIT */
/*
 * One link of a chain of interposers. Compiled with LINK=1, 10 and 100: each link adds its number
 * to the result of the next definition of chain(). The last link has no next definition.
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

	/* If dlsym mistakes the caller for another object, each link finds the first link again. */
	if (depth > 8) {
		printf("the chain runs in a circle\n");
		exit(1);
	}
	return LINK + (next ? next(depth + 1) : 0);
}

#if LINK == 1
/* Calls dlsym from the first library, which gets another answer than the program. */
void *ask_next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	__asm__ volatile("" : : "r"(found)); /* a tail call would leave the program's return address */
	return found;
}
#endif

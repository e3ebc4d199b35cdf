/* SPDX-License-Identifier: MIT */
/*
 * Reads commands from its standard input, one in a line, and answers each with "ok":
 *
 *	alloc SIZE    free    refuse     allocates; frees the last block; makes a refused request
 *	snapshot NAME pause   resume     calls of gpumemtrace.h
 *	many COUNT                       allocates and frees COUNT blocks
 *	handle                           handles SIGUSR1 itself from now on
 *	raise                            raises SIGUSR1
 */
#include <cuda_runtime_api.h>
#include <gpumemtrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 1024 };

static void *blocks[BLOCKS];
static int count;

static void ignore(int number)
{
	(void)number;
}

/* Not inlined, so that stacks show the line of the allocation. */
__attribute__((noinline)) static void take(size_t size_bytes)
{
	if (cudaMalloc(&blocks[count], size_bytes) == cudaSuccess)
		count++;
	__asm__ volatile("" : : : "memory");
}

static void give_back(void)
{
	if (count)
		cudaFree(blocks[--count]);
}

static void obey(const char *verb, const char *rest)
{
	if (!strcmp(verb, "alloc"))
		take(strtoull(rest, NULL, 0));
	else if (!strcmp(verb, "free"))
		give_back();
	else if (!strcmp(verb, "refuse"))
		take((size_t)1 << 50);
	else if (!strcmp(verb, "snapshot"))
		gpumemtrace_snapshot(rest);
	else if (!strcmp(verb, "pause"))
		gpumemtrace_pause();
	else if (!strcmp(verb, "resume"))
		gpumemtrace_resume();
	else if (!strcmp(verb, "handle"))
		signal(SIGUSR1, ignore);
	else if (!strcmp(verb, "raise"))
		raise(SIGUSR1);
	for (long i = !strcmp(verb, "many") ? atol(rest) : 0; i > 0; i--) {
		take(4096);
		give_back();
	}
}

int main(void)
{
	char line[256], verb[32];

	while (fgets(line, sizeof(line), stdin)) {
		int length = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%31s %n", verb, &length) < 1)
			continue;
		obey(verb, line + length);
		printf("ok\n");
		fflush(stdout);
	}
	return 0;
}

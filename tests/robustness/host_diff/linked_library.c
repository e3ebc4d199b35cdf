/* SPDX-License-Identifier: MIT */
/*
 * A library to which a program is linked. It allocates in its constructor and frees in its
 * destructor.
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuMemAlloc_v2(uint64_t *ret_address, size_t bytes);
int cuMemFree_v2(uint64_t address);
__attribute__((visibility("default"))) void linked_touch(void);

static uint64_t blocks[20];

void linked_touch(void)
{
}

static void print_text(const char *text, size_t length)
{
	if (write(1, text, length) < 0)
		abort();
}

static void at_exit(void)
{
	print_text("library: handler at exit\n", 25);
}

__attribute__((constructor)) static void begins(void)
{
	if (cuInit(0))
		abort();
	for (int i = 0; i < 20; i++)
		if (cuMemAlloc_v2(&blocks[i], 1 << 20))
			abort();
	atexit(at_exit);
	print_text("library: begins\n", 16);
}

__attribute__((destructor)) static void ends(void)
{
	for (int i = 0; i < 20; i++)
		if (cuMemFree_v2(blocks[i]))
			abort();
	print_text("library: ends\n", 14);
}

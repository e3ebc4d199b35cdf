/* SPDX-License-Identifier: MIT */
/*
 * many-libraries FOLDER COUNT AGAIN: opens COUNT libraries, FOLDER/0000.so and so on. Each
 * allocates 1000 bytes plus its number. Closes every third library; each of the others allocates
 * 100,000 bytes plus its number. Opens the closed libraries again, from the last to the first; each
 * of these allocates 200,000 bytes plus its number. Then eight of the libraries allocate 300,000
 * bytes in turns, AGAIN times each.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 10000, EVERY = 3, IN_TURNS = 8 };

typedef int entry(int (*allocate)(void **, size_t), size_t size_bytes);

static void *handles[MOST];
static entry *entries[MOST];

static int allocate_block(void **block, size_t size_bytes)
{
	return cudaMalloc(block, size_bytes) != cudaSuccess;
}

static void open_library(const char *folder, int number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%04d.so", folder, number);
	handles[number] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handles[number]) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	*(void **)&entries[number] = dlsym(handles[number], "many_entry");
}

static void allocate(int number, size_t size_bytes)
{
	if (!entries[number] || entries[number](allocate_block, size_bytes))
		exit(4);
}

int main(int argument_count, char **arguments)
{
	int count = argument_count > 3 ? atoi(arguments[2]) : 0;
	int again = argument_count > 3 ? atoi(arguments[3]) : 0;

	if (count < IN_TURNS || count > MOST)
		return 2;
	for (int number = 0; number < count; number++) {
		open_library(arguments[1], number);
		allocate(number, (size_t)(1000 + number));
	}
	for (int number = 0; number < count; number += EVERY)
		dlclose(handles[number]);
	for (int number = 0; number < count; number++)
		if (number % EVERY)
			allocate(number, (size_t)(100000 + number));
	for (int number = (count - 1) / EVERY * EVERY; number >= 0; number -= EVERY) {
		open_library(arguments[1], number);
		allocate(number, (size_t)(200000 + number));
	}
	for (int turn = 0; turn < again; turn++)
		for (int number = 0; number < IN_TURNS; number++)
			allocate(number, 300000);
	return 0;
}

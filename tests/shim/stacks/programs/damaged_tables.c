/* SPDX-License-Identifier: MIT */
/*
 * damaged-tables LIBRARY COPY TIMES SEED: writes a copy of LIBRARY with random changes in its
 * unwind tables. Opens the copy, and allocates below its functions. Repeats this TIMES times, and
 * prints the number of rounds.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 20 };

static unsigned char whole[LARGEST], copy[LARGEST];
static size_t size_bytes;
static struct {
	size_t start, bytes;
} tables[2]; /* .eh_frame_hdr, .eh_frame */

static void demand(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "damaged-tables: %s\n", what);
	exit(1);
}

static int allocate(void)
{
	void *block;

	demand(cudaMalloc(&block, 512) == cudaSuccess && cudaFree(block) == cudaSuccess, "no memory");
	return 0;
}

static void read_library(const char *path)
{
	FILE *file = fopen(path, "rb");
	const Elf64_Ehdr *header = (const void *)whole;

	demand(file && (size_bytes = fread(whole, 1, LARGEST, file)) && size_bytes < LARGEST,
		"cannot read the library");
	fclose(file);

	const Elf64_Shdr *sections = (const void *)(whole + header->e_shoff);
	const char *names = (const char *)whole + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++) {
		int which = !strcmp(names + sections[i].sh_name, ".eh_frame_hdr") ? 0
			: !strcmp(names + sections[i].sh_name, ".eh_frame")           ? 1
																		  : -1;

		if (which < 0)
			continue;
		tables[which].start = sections[i].sh_offset;
		tables[which].bytes = sections[i].sh_size;
	}
	demand(tables[0].bytes && tables[1].bytes, "the library has no unwind tables");
}

static void damage(void)
{
	memcpy(copy, whole, size_bytes);
	switch (rand() % 8) {
	case 0: /* overwrites one whole table */
		for (size_t i = 0, which = (size_t)rand() % 2; i < tables[which].bytes; i++)
			copy[tables[which].start + i] = (unsigned char)rand();
		return;
	case 1: /* clears a table from a random place on */
		for (size_t which = (size_t)rand() % 2, i = (size_t)rand() % tables[which].bytes;
			i < tables[which].bytes; i++)
			copy[tables[which].start + i] = 0;
		return;
	}
	for (int changes = 1 + rand() % 12; changes; changes--) {
		size_t which = rand() % 4 != 0;
		unsigned char *byte = copy + tables[which].start + (size_t)rand() % tables[which].bytes;

		*byte = (unsigned char)(rand() % 2 ? rand() : rand() % 2 ? *byte ^ 1 << rand() % 8 : 0xff);
	}
}

static void write_copy(const char *path)
{
	FILE *file;

	unlink(path);
	demand((file = fopen(path, "wb")) && fwrite(copy, 1, size_bytes, file) == size_bytes &&
			!fclose(file),
		"cannot write the copy");
}

int main(int count, char **arguments)
{
	static const char *const names[] = { "damaged_plain", "damaged_varying", "damaged_aligned",
		"damaged_saving" };

	demand(count == 5, "LIBRARY COPY TIMES SEED");
	read_library(arguments[1]);
	srand((unsigned)atoi(arguments[4]));
	for (int times = atoi(arguments[3]); times; times--) {
		damage();
		write_copy(arguments[2]);

		void *library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);

		demand(library != NULL, "cannot open the copy");
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			int (*call)(int (*)(void), int);

			*(void **)&call = dlsym(library, names[i]);
			demand(call != NULL, "the library lacks a function");
			call(allocate, rand() % 3);
		}
		dlclose(library);
	}
	printf("%s\n", arguments[3]);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Runs a target without libFuzzer. Supports the part of libFuzzer's command line that tests use:
 *
 *   fuzz_TARGET [-runs=N] [-seed=N] [-OTHER=...] FOLDER|FILE...
 *
 * Tries each file unchanged, then N mutations of the files, or with GMT_TEST_LONG mutations for ten
 * minutes. Run N of a seed is always the same. On a terminal the program shows the number, which
 * identifies a crash.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "containers/map.h"
#include "content.h"
#include "work_limit.h"

enum { MAX_BYTES = 1 << 20, MAX_FILES = 4096, LONG_S = 600 };

struct seed {
	uint8_t *bytes;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
	unsigned seed);

static uint64_t state;
static struct seed seeds[MAX_FILES];
static size_t seed_count;

static uint64_t draw(uint64_t below)
{
	state = gmt_hash_u64(state + 1);
	return below ? state % below : 0;
}

/* Returns a byte that often breaks assumptions. */
static uint8_t odd_byte(void)
{
	static const uint8_t odd[] = { 0x00, 0x01, 0x0a, 0x7f, 0x80, 0xff };

	return draw(2) ? odd[draw(sizeof(odd))] : (uint8_t)draw(256);
}

/* Makes one change: sets bytes or a run of bytes, or moves, removes or repeats a piece. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	size_t at = draw(size + 1), left = size - at,
		   length = left ? 1 + draw(left < 64 ? left : 64) : 0;

	if (!left && size < max_size) {
		data[at] = odd_byte();
		return size + 1;
	}
	switch (draw(6)) {
	case 0:
		if (left)
			data[at] ^= (uint8_t)(1u << draw(8));
		break;
	case 1:
		if (left)
			data[at] = odd_byte();
		break;
	case 2:
		memset(data + at, odd_byte(), length);
		break;
	case 3:
		memmove(data + at, data + draw(at + 1), length);
		break;
	case 4:
		memmove(data + at, data + at + length, left - length);
		size -= length;
		break;
	case 5:
		if (size + length > max_size)
			break;
		memmove(data + at + length, data + at, left);
		size += length;
		break;
	}
	return size;
}

static void read_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *bytes = malloc(MAX_BYTES);
	size_t size = file && bytes ? fread(bytes, 1, MAX_BYTES, file) : 0;

	if (!file || !bytes || seed_count == MAX_FILES) {
		fprintf(stderr, "fuzz: %s cannot be read\n", path);
		exit(2);
	}
	fclose(file);
	seeds[seed_count++] = (struct seed){ realloc(bytes, size ? size : 1), size };
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_seeds(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_file, alphasort);

	if (count < 0) {
		read_file(path);
		return;
	}
	for (int i = 0; i < count; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		read_file(file);
		free(entries[i]);
	}
	free(entries);
}

static void try_input(const uint8_t *bytes, size_t size)
{
	fuzz_work_begin(size);
	LLVMFuzzerTestOneInput(bytes, size);
	fuzz_work_end();
}

static void run(uint64_t seed, uint64_t number)
{
	static uint8_t content[MAX_BYTES];
	const struct seed *from;
	size_t size;

	state = seed * 1000003 + number;
	from = &seeds[draw(seed_count)];
	size = from->size;
	memcpy(content, from->bytes, size);
	for (uint64_t changes = 1 + draw(8); changes--;)
		size = LLVMFuzzerCustomMutator && draw(4)
			? LLVMFuzzerCustomMutator(content, size, MAX_BYTES, (unsigned)draw(UINT32_MAX))
			: LLVMFuzzerMutate(content, size, MAX_BYTES);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rrun %llu ", (unsigned long long)number);

	/* A copy of exactly this length, so that a read beyond the end is detected. */
	uint8_t *input = malloc(size ? size : 1);
	if (!input)
		abort();
	memcpy(input, content, size);
	try_input(input, size);
	free(input);
}

int main(int argc, char **argv)
{
	uint64_t runs = 0, seed = 1;

	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "-runs=", 6) == 0)
			runs = strtoull(argv[i] + 6, NULL, 10);
		else if (strncmp(argv[i], "-seed=", 6) == 0)
			seed = strtoull(argv[i] + 6, NULL, 10);
		else if (argv[i][0] != '-')
			read_seeds(argv[i]);
	}
	if (!seed_count) {
		fputs("usage: fuzz_TARGET [-runs=N] [-seed=N] FOLDER|FILE...\n", stderr);
		return 2;
	}
	fuzz_is_thorough = true;
	for (size_t i = 0; i < seed_count; i++)
		try_input(seeds[i].bytes, seeds[i].size);
	fuzz_is_thorough = false;

	const char *is_long = getenv("GMT_TEST_LONG");
	time_t end = is_long && *is_long ? time(NULL) + LONG_S : 0;
	for (uint64_t number = 0; end ? time(NULL) < end : number < runs; number++)
		run(seed, number);
	printf("%zu files, then mutations\n", seed_count);
	fuzz_work_print();
	return 0;
}

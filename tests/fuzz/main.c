/* SPDX-License-Identifier: MIT */
/*
 * Mutates snapshots and gives them to fuzz_load.c, where there is no libFuzzer:
 *
 *   fuzz_load ROUNDS SEED FILE...
 *
 * Round N of a seed is always the same; on a terminal the number is shown, so that a crash says which.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/map.h"
#include "wire/format.h"

enum { MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = gmt_hash_u64(state + 1);
	return below ? state % below : 0;
}

static size_t read_content(const char *path, uint8_t *content)
{
	gzFile file = gzopen(path, "rb");
	int got = file ? gzread(file, content, MAX_BYTES) : -1;

	if (got < GMT_FILE_HEADER_BYTES) {
		fprintf(stderr, "fuzz_load: %s cannot be read\n", path);
		exit(2);
	}
	gzclose(file);
	return (size_t)got;
}

/* The values that break assumptions. */
static uint8_t odd_byte(void)
{
	static const uint8_t odd[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };

	return draw(2) ? odd[draw(sizeof(odd))] : (uint8_t)draw(256);
}

/* One change somewhere: bytes, a run, a piece moved, taken out or said twice. */
static size_t mutate(uint8_t *content, size_t size)
{
	size_t at = GMT_FILE_HEADER_BYTES + draw(size - GMT_FILE_HEADER_BYTES);
	size_t length = 1 + draw(size - at < 64 ? size - at : 64);

	switch (draw(6)) {
	case 0:
		content[at] ^= (uint8_t)(1u << draw(8));
		break;
	case 1:
		content[at] = odd_byte();
		break;
	case 2:
		memset(content + at, odd_byte(), length);
		break;
	case 3:
		memmove(content + at, content + GMT_FILE_HEADER_BYTES + draw(at - GMT_FILE_HEADER_BYTES + 1),
			length);
		break;
	case 4:
		if (size - length <= GMT_FILE_HEADER_BYTES)
			break;
		memmove(content + at, content + at + length, size - at - length);
		size -= length;
		break;
	case 5:
		if (size + length > MAX_BYTES)
			break;
		memmove(content + at + length, content + at, size - at);
		size += length;
		break;
	}
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t seed[MAX_BYTES], content[MAX_BYTES];

	if (argc < 4) {
		fputs("usage: fuzz_load ROUNDS SEED FILE...\n", stderr);
		return 2;
	}
	for (uint64_t round = 0, rounds = strtoull(argv[1], NULL, 10); round < rounds; round++) {
		size_t size = read_content(argv[3 + round % (uint64_t)(argc - 3)], seed);

		state = strtoull(argv[2], NULL, 10) * 1000003 + round;
		memcpy(content, seed, size);
		for (uint64_t changes = 1 + draw(8); changes--;)
			size = mutate(content, size);
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\rround %llu ", (unsigned long long)round);
		LLVMFuzzerTestOneInput(content, size);
	}
	return 0;
}

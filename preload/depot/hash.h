/* SPDX-License-Identifier: MIT */
#ifndef GMT_DEPOT_HASH_H
#define GMT_DEPOT_HASH_H

/*
 * The hash function of the recorder's tables of stacks. Hashes are private to the process: no file
 * contains them. Two words need one multiplication, and the processor computes two chains in
 * parallel. A word that equals one of the constants makes the hash independent of the next word.
 * This only makes probes longer, because the tables compare the entries.
 */

#include <stdint.h>
#include <string.h>

static inline uint64_t gmt_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t gmt_hash_load(const char *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static inline uint64_t gmt_depot_hash_bytes(uint64_t seed, const void *bytes, uint64_t length)
{
	const char *from = bytes;
	uint64_t odd = 0x9e3779b97f4a7c15 ^ length;
	uint64_t even = 0xd6e8feb86659fd93 ^ seed;
	uint64_t first = 0;
	uint64_t last = 0;

	for (; length > 32; length -= 32, from += 32) {
		odd = gmt_hash_mix(gmt_hash_load(from) ^ 0xa0761d6478bd642f, gmt_hash_load(from + 8) ^ odd);
		even = gmt_hash_mix(gmt_hash_load(from + 16) ^ 0xe7037ed1a0b428db,
			gmt_hash_load(from + 24) ^ even);
	}
	/*
	 * Reads the last bytes as two words, which may overlap. Copying an unknown length would be a
	 * call.
	 */
	if (length > 16) {
		odd = gmt_hash_mix(gmt_hash_load(from) ^ 0xa0761d6478bd642f, gmt_hash_load(from + 8) ^ odd);
		from += length - 16;
		length = 16;
	}
	if (length >= 8) {
		first = gmt_hash_load(from);
		last = gmt_hash_load(from + length - 8);
	} else {
		for (uint64_t i = 0; i < length; i++)
			first = first << 8 | (unsigned char)from[i];
	}
	even = gmt_hash_mix(first ^ 0xe7037ed1a0b428db, last ^ even);
	return gmt_hash_mix(odd ^ 0x8ebc6af09c88c6e3, even);
}

#endif

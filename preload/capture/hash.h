/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_HASH_H
#define GMT_CAPTURE_HASH_H

/*
 * The hash of the capture's tables: private to the process, never stored. Two words take one
 * multiplication, in two chains that the processor runs side by side. Its weakness (a word equal to a
 * constant hides its neighbour) costs a longer probe where entries are compared.
 */

#include <stdint.h>
#include <string.h>

static inline uint64_t gmt_hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t gmt_hash_bytes(uint64_t seed, const void *bytes, uint64_t length)
{
	const char *from = bytes;
	uint64_t odd = 0x9e3779b97f4a7c15 ^ length;
	uint64_t even = 0xd6e8feb86659fd93 ^ seed;
	uint64_t words[4];

	for (; length >= sizeof(words); length -= sizeof(words), from += sizeof(words)) {
		memcpy(words, from, sizeof(words));
		odd = gmt_hash_fold(words[0] ^ 0xa0761d6478bd642f, words[1] ^ odd);
		even = gmt_hash_fold(words[2] ^ 0xe7037ed1a0b428db, words[3] ^ even);
	}
	memset(words, 0, sizeof(words));
	memcpy(words, from, length);
	odd = gmt_hash_fold(words[0] ^ 0xa0761d6478bd642f, words[1] ^ odd);
	even = gmt_hash_fold(words[2] ^ 0xe7037ed1a0b428db, words[3] ^ even);
	return gmt_hash_fold(odd ^ 0x8ebc6af09c88c6e3, even);
}

#endif

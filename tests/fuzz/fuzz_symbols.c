/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the file of kept symbols. Reads it, adds an result, writes it and reads it again: all
 * results must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "containers/map.h"
#include "content.h"
#include "reader/symbols/symbols_results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Each address is written with its own frames, even if addresses share them. From a much larger
 * input, more would be written than a file may hold.
 */
enum { MAX_BYTES = 64 << 10 };

static const char key[] = "key";

/* The head of the file, as symbols_results.h describes it. */
struct head {
	uint64_t magic, hash;
	uint32_t address_count, frame_count, text_bytes, zero;
};

/*
 * Corrects the head, the hash, the key and the final NUL, as far as the content has this shape.
 * Mutations then reach the numbers and texts.
 */
static void repair(uint8_t *content, size_t size)
{
	struct gmt_symbols_results none = { 0 };
	gmt_symbols_results_bytes empty = { 0 };
	struct head *head = (struct head *)content;

	if (size < sizeof(*head) + sizeof(key) || !gmt_symbols_results_encode(&none, key, &empty))
		return;

	size_t tables = head->address_count * sizeof(struct gmt_symbols_results_address) +
		head->frame_count * sizeof(struct gmt_symbols_results_frame);
	if (tables <= size - sizeof(*head) - sizeof(key)) {
		head->text_bytes = (uint32_t)(size - sizeof(*head) - tables);
		memcpy(content + sizeof(*head) + tables, key, sizeof(key));
		content[size - 1] = 0;
	}
	head->magic = ((struct head *)empty.items)->magic;
	head->zero = 0;
	head->hash = gmt_hash_bytes(content + 16, size - 16);
	gmt_vec_fini(&empty);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void compare(const struct gmt_symbols_results *one, const struct gmt_symbols_results *other,
	uint64_t address)
{
	struct gmt_symbols_frame a[GMT_SYMBOLS_MAX_FRAMES], b[GMT_SYMBOLS_MAX_FRAMES];
	size_t count = gmt_symbols_results_find(one, address, a);

	if (!count || count > GMT_SYMBOLS_MAX_FRAMES ||
		gmt_symbols_results_find(other, address, b) != count)
		abort();
	for (size_t i = 0; i < count; i++)
		if (a[i].line != b[i].line || !is_same(a[i].function, b[i].function) ||
			!is_same(a[i].file, b[i].file))
			abort();
}

/* Adds an result at an address that has none. Returns the address. */
static uint64_t add(struct gmt_symbols_results *results)
{
	struct gmt_symbols_frame found[GMT_SYMBOLS_MAX_FRAMES],
		frames[2] = { { "name", NULL, 3 }, { NULL, key, 0 } };
	uint64_t address = 0;

	while (gmt_symbols_results_find(results, address, found))
		address++;
	if (!gmt_symbols_results_add(results, address, frames, 2))
		abort();
	return address;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_symbols_results results = { 0 }, again = { 0 };
	gmt_symbols_results_bytes bytes = { 0 };
	uint8_t *content;

	if (size > MAX_BYTES)
		return 0;
	content = fuzz_copy(data, size);

	repair(content, size);
	if (gmt_symbols_results_load(&results, content, size, key)) {
		uint64_t added = add(&results);

		if (!gmt_symbols_results_encode(&results, key, &bytes) ||
			!gmt_symbols_results_load(&again, bytes.items, bytes.count, key))
			abort();
		for (uint32_t i = 0; i < results.earlier.address_count; i++)
			compare(&results, &again, results.earlier.addresses[i].address);
		compare(&results, &again, added);
		if (again.earlier.address_count != results.earlier.address_count + 1)
			abort();
	}
	gmt_symbols_results_fini(&again);
	gmt_symbols_results_fini(&results);
	gmt_vec_fini(&bytes);
	free(content);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the file of kept symbols. Reads it, adds an answer, writes it and reads it again: all
 * answers must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "containers/map.h"
#include "content.h"
#include "reader/symbols/symbols_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Each address is written with its own frames, even if addresses share them. From a much larger
 * input, more would be written than a file may hold.
 */
enum { MOST_BYTES = 64 << 10 };

static const char key[] = "key";

/* The head of the file, as symbols_answers.h describes it. */
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
	struct gmt_symbols_answers none = { 0 };
	gmt_symbols_answers_bytes empty = { 0 };
	struct head *head = (struct head *)content;

	if (size < sizeof(*head) + sizeof(key) || !gmt_symbols_answers_make(&none, key, &empty))
		return;

	size_t tables = head->address_count * sizeof(struct gmt_symbols_answers_address) +
		head->frame_count * sizeof(struct gmt_symbols_answers_frame);
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

static void compare(const struct gmt_symbols_answers *one, const struct gmt_symbols_answers *other,
	uint64_t address)
{
	struct gmt_symbols_frame a[GMT_SYMBOLS_MAX_FRAMES], b[GMT_SYMBOLS_MAX_FRAMES];
	size_t count = gmt_symbols_answers_find(one, address, a);

	if (!count || count > GMT_SYMBOLS_MAX_FRAMES ||
		gmt_symbols_answers_find(other, address, b) != count)
		abort();
	for (size_t i = 0; i < count; i++)
		if (a[i].line != b[i].line || !is_same(a[i].function, b[i].function) ||
			!is_same(a[i].file, b[i].file))
			abort();
}

/* Adds an answer at an address that has none. Returns the address. */
static uint64_t add(struct gmt_symbols_answers *answers)
{
	struct gmt_symbols_frame found[GMT_SYMBOLS_MAX_FRAMES],
		frames[2] = { { "name", NULL, 3 }, { NULL, key, 0 } };
	uint64_t address = 0;

	while (gmt_symbols_answers_find(answers, address, found))
		address++;
	if (!gmt_symbols_answers_add(answers, address, frames, 2))
		abort();
	return address;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_symbols_answers answers = { 0 }, again = { 0 };
	gmt_symbols_answers_bytes bytes = { 0 };
	uint8_t *content;

	if (size > MOST_BYTES)
		return 0;
	content = fuzz_copy(data, size);

	repair(content, size);
	if (gmt_symbols_answers_take(&answers, content, size, key)) {
		uint64_t added = add(&answers);

		if (!gmt_symbols_answers_make(&answers, key, &bytes) ||
			!gmt_symbols_answers_take(&again, bytes.items, bytes.count, key))
			abort();
		for (uint32_t i = 0; i < answers.kept.address_count; i++)
			compare(&answers, &again, answers.kept.addresses[i].address);
		compare(&answers, &again, added);
		if (again.kept.address_count != answers.kept.address_count + 1)
			abort();
	}
	gmt_symbols_answers_fini(&again);
	gmt_symbols_answers_fini(&answers);
	gmt_vec_fini(&bytes);
	free(content);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "render/export/torch/pickle.h"

#include <string.h>

#include "base/budget.h"
#include "base/safe_text.h"

/* Python writes batches of the same size. The viewer fails at batches of 200,000 items. */
enum { LIST_BATCH = 1000 };

enum opcode {
	PROTO = 0x80,
	STOP = '.',
	MARK = '(',
	EMPTY_DICT = '}',
	SETITEMS = 'u',
	EMPTY_LIST = ']',
	APPENDS = 'e',
	TUPLE2 = 0x86,
	NEWTRUE = 0x88,
	NEWFALSE = 0x89,
	BININT = 'J',
	BININT1 = 'K',
	BININT2 = 'M',
	LONG1 = 0x8a,
	BINUNICODE = 'X',
	BINPUT = 'q',
	LONG_BINPUT = 'r',
	BINGET = 'h',
	LONG_BINGET = 'j',
};

static void put(const struct gmt_pickle *pickle, enum opcode opcode)
{
	putc_unlocked(opcode, pickle->file);
}

/* Writes the `bytes` lowest bytes of a number, the lowest first. */
static void put_bytes(const struct gmt_pickle *pickle, uint64_t value, int bytes)
{
	for (; bytes; bytes--, value >>= 8)
		putc_unlocked((int)(value & 0xff), pickle->file);
}

void gmt_pickle_begin(struct gmt_pickle *pickle)
{
	put(pickle, PROTO);
	put_bytes(pickle, 2, 1);
}

void gmt_pickle_end(struct gmt_pickle *pickle)
{
	put(pickle, STOP);
}

uint32_t gmt_pickle_memoize(struct gmt_pickle *pickle)
{
	uint32_t number = pickle->memoized++;

	put(pickle, number < 256 ? BINPUT : LONG_BINPUT);
	put_bytes(pickle, number, number < 256 ? 1 : 4);
	return number + 1;
}

void gmt_pickle_get(struct gmt_pickle *pickle, uint32_t number_plus_1)
{
	uint32_t number = number_plus_1 - 1;

	put(pickle, number < 256 ? BINGET : LONG_BINGET);
	put_bytes(pickle, number, number < 256 ? 1 : 4);
}

void gmt_pickle_number(struct gmt_pickle *pickle, uint64_t value)
{
	if (value < 1 << 8) {
		put(pickle, BININT1);
		put_bytes(pickle, value, 1);
	} else if (value < 1 << 16) {
		put(pickle, BININT2);
		put_bytes(pickle, value, 2);
	} else if (value <= INT32_MAX) {
		put(pickle, BININT);
		put_bytes(pickle, value, 4);
	} else {
		/* Nine bytes, for a number above INT64_MAX, are too many for the viewer. */
		put(pickle, LONG1);
		put_bytes(pickle, 8, 1);
		put_bytes(pickle, value > INT64_MAX ? INT64_MAX : value, 8);
	}
}

void gmt_pickle_bool(struct gmt_pickle *pickle, bool value)
{
	put(pickle, value ? NEWTRUE : NEWFALSE);
}

/* Returns the length of the text with replaced characters. With `is_written`, also writes it. */
static uint32_t safe_text(const struct gmt_pickle *pickle, const char *text, size_t length,
	bool is_written)
{
	const unsigned char *at = (const unsigned char *)text;
	uint32_t sum = 0;

	for (size_t left = length; left;) {
		size_t skip, character = gmt_safe_character_length(at, left, &skip);
		size_t taken = character ? character : skip;

		if (is_written)
			fwrite_unlocked(character ? (const char *)at : "?", 1, character ? character : 1,
				pickle->file);
		sum += (uint32_t)(character ? character : 1);
		at += taken;
		left -= taken;
	}
	return sum;
}

void gmt_pickle_text(struct gmt_pickle *pickle, const char *text)
{
	size_t length = gmt_budget_spend_text(strlen(text));

	put(pickle, BINUNICODE);
	put_bytes(pickle, safe_text(pickle, text, length, false), 4);
	safe_text(pickle, text, length, true);
}

void gmt_pickle_memo_text(struct gmt_pickle *pickle, const char *text, uint32_t *memo)
{
	if (*memo) {
		gmt_pickle_get(pickle, *memo);
		return;
	}
	gmt_pickle_text(pickle, text);
	*memo = gmt_pickle_memoize(pickle);
}

void gmt_pickle_begin_dict(struct gmt_pickle *pickle)
{
	put(pickle, EMPTY_DICT);
	put(pickle, MARK);
}

void gmt_pickle_end_dict(struct gmt_pickle *pickle)
{
	put(pickle, SETITEMS);
}

struct gmt_pickle_list gmt_pickle_begin_list(struct gmt_pickle *pickle)
{
	put(pickle, EMPTY_LIST);
	return (struct gmt_pickle_list){ 0 };
}

void gmt_pickle_item(struct gmt_pickle *pickle, struct gmt_pickle_list *list)
{
	if (list->count % LIST_BATCH == 0) {
		if (list->count)
			put(pickle, APPENDS);
		put(pickle, MARK);
	}
	list->count++;
}

void gmt_pickle_end_list(struct gmt_pickle *pickle, const struct gmt_pickle_list *list)
{
	if (list->count)
		put(pickle, APPENDS);
}

void gmt_pickle_pair(struct gmt_pickle *pickle, uint64_t first, uint64_t second)
{
	gmt_pickle_number(pickle, first);
	gmt_pickle_number(pickle, second);
	put(pickle, TUPLE2);
}

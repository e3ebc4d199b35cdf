/* SPDX-License-Identifier: MIT */
#include "python/python_text.h"

#include "depot/hash.h"

/* The characters of a str, in any of its forms. */
struct characters {
	const char *data;
	uint64_t count;
	uint32_t width; /* bytes of each character: 1, 2, 4; 0: an unknown form */
	bool is_ascii;
};

static struct characters characters_of(const struct gmt_python_layout *layout, const char *string)
{
	uint32_t state =
		(uint32_t)gmt_python_load_int(string, GMT_PYTHON_STRING_STATE) >> layout->string.kind_shift;
	bool is_compact = state >> 3 & 1;
	struct characters chars = {
		.count = (uint64_t)gmt_python_load_long(string, GMT_PYTHON_STRING_LENGTH),
		.width = state & 7,
		.is_ascii = state >> 4 & 1,
	};

	if (!is_compact) /* an instance of a subclass of str */
		chars.data = gmt_python_load(string, layout->string.compact);
	else
		chars.data = string + (chars.is_ascii ? layout->string.ascii : layout->string.compact);
	/*
	 * Python 3.9 to 3.11 also have strings without characters yet (not ready), with width 0. No
	 * code object has such a string.
	 */
	if (!chars.data || (chars.width != 1 && chars.width != 2 && chars.width != 4))
		chars.width = 0;
	return chars;
}

static uint32_t character_at(const struct characters *chars, uint64_t index)
{
	uint16_t two_bytes;
	uint32_t four_bytes;

	switch (chars->width) {
	case 1:
		return (unsigned char)chars->data[index];
	case 2:
		memcpy(&two_bytes, chars->data + 2 * index, sizeof(two_bytes));
		return two_bytes;
	default:
		memcpy(&four_bytes, chars->data + 4 * index, sizeof(four_bytes));
		return four_bytes;
	}
}

/* Encodes a character as UTF-8. Returns the number of bytes, 1 to 4. */
static uint32_t encode(uint32_t character, char *ret_bytes)
{
	if (!character)
		character = '?';
	if ((character >= 0xd800 && character <= 0xdfff) || character > 0x10ffff)
		character = 0xfffd;

	uint32_t following = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
	static const unsigned char lead[] = { 0x00, 0xc0, 0xe0, 0xf0 };

	ret_bytes[0] = (char)(lead[following] | character >> 6 * following);
	for (uint32_t i = 1; i <= following; i++)
		ret_bytes[i] = (char)(0x80 | (character >> 6 * (following - i) & 0x3f));
	return following + 1;
}

uint32_t gmt_python_text(const struct gmt_python_layout *layout, const char *string, char *ret_text)
{
	if (!string)
		return 0;

	struct characters chars = characters_of(layout, string);
	uint32_t length = 0;
	char bytes[4];

	if (!chars.width)
		return 0;
	for (uint64_t i = 0; i < chars.count; i++) {
		uint32_t encoded = encode(character_at(&chars, i), bytes);

		if (length + encoded > GMT_PYTHON_TEXT_BYTES)
			break;
		memcpy(ret_text + length, bytes, encoded);
		length += encoded;
	}
	return length;
}

uint64_t gmt_python_text_hash(const struct gmt_python_layout *layout, const char *string)
{
	if (!string)
		return 0;

	/*
	 * Uses the hash that the interpreter has stored in the object. Interned strings, such as names,
	 * always have one. If another thread stores the hash later, the value of this string changes
	 * once. Then the caller only reads the text again.
	 */
	int64_t hash = gmt_python_load_long(string, GMT_PYTHON_STRING_HASH);

	if (hash != -1)
		return (uint64_t)hash;

	struct characters chars = characters_of(layout, string);
	uint64_t count = chars.count < GMT_PYTHON_TEXT_BYTES ? chars.count : GMT_PYTHON_TEXT_BYTES;

	return gmt_depot_hash_bytes(chars.count, chars.data, count * chars.width);
}

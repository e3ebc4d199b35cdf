/* SPDX-License-Identifier: MIT */
#include "render/export/protobuf.h"

#include <string.h>

#include "base/budget.h"
#include "base/safe_text.h"

enum { WIRE_VARINT = 0, WIRE_64_BITS = 1, WIRE_BYTES = 2, WIRE_32_BITS = 5 };

static void add_bytes(struct gmt_protobuf *message, const void *bytes, size_t length)
{
	if (!gmt_vec_reserve(&message->bytes, length)) {
		message->failed = true;
		return;
	}
	if (length)
		memcpy(message->bytes.items + message->bytes.count, bytes, length);
	message->bytes.count += length;
}

static size_t encode_varint(uint64_t value, uint8_t ret_bytes[10])
{
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		ret_bytes[length++] = (uint8_t)(value | 0x80);
	ret_bytes[length++] = (uint8_t)value;
	return length;
}

static void add_varint(struct gmt_protobuf *message, uint64_t value)
{
	uint8_t bytes[10];

	add_bytes(message, bytes, encode_varint(value, bytes));
}

static void add_tag(struct gmt_protobuf *message, uint32_t field, uint32_t wire)
{
	add_varint(message, (uint64_t)field << 3 | wire);
}

void gmt_protobuf_number(struct gmt_protobuf *message, uint32_t field, uint64_t value)
{
	add_tag(message, field, WIRE_VARINT);
	add_varint(message, value);
}

/*
 * Returns the length of the text without the characters that cannot be shown, each of which is one
 * byte then. With a message, also adds that text.
 */
static size_t safe_text(const char *text, size_t length, struct gmt_protobuf *message)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t sum = 0;

	for (size_t left = length; left;) {
		size_t skip, character = gmt_safe_character_length(at, left, &skip);
		size_t taken = character ? character : skip;

		if (message)
			add_bytes(message, character ? (const char *)at : "?", character ? character : 1);
		sum += character ? character : 1;
		at += taken;
		left -= taken;
	}
	return sum;
}

void gmt_protobuf_double(struct gmt_protobuf *message, uint32_t field, double value)
{
	add_tag(message, field, WIRE_64_BITS);
	add_bytes(message, &value, sizeof(value));
}

void gmt_protobuf_float(struct gmt_protobuf *message, uint32_t field, float value)
{
	add_tag(message, field, WIRE_32_BITS);
	add_bytes(message, &value, sizeof(value));
}

void gmt_protobuf_text(struct gmt_protobuf *message, uint32_t field, const char *text)
{
	size_t length = gmt_budget_spend_text(strlen(text));

	add_tag(message, field, WIRE_BYTES);
	add_varint(message, safe_text(text, length, NULL));
	safe_text(text, length, message);
}

void gmt_protobuf_numbers(struct gmt_protobuf *message, uint32_t field, const uint64_t *values,
	size_t count)
{
	size_t length = 0;
	uint8_t bytes[10];

	for (size_t i = 0; i < count; i++)
		length += encode_varint(values[i], bytes);
	add_tag(message, field, WIRE_BYTES);
	add_varint(message, length);
	for (size_t i = 0; i < count; i++)
		add_varint(message, values[i]);
}

void gmt_protobuf_message(struct gmt_protobuf *message, uint32_t field,
	const struct gmt_protobuf *child)
{
	message->failed |= child->failed;
	add_tag(message, field, WIRE_BYTES);
	add_varint(message, child->bytes.count);
	add_bytes(message, child->bytes.items, child->bytes.count);
}

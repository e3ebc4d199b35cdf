/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_PROTOBUF_H
#define GMT_RENDER_EXPORT_PROTOBUF_H

/*
 * Encodes messages of Protocol Buffers, field by field. A nested message is a message of its own,
 * which gmt_protobuf_message appends. Zero-initialise a message; end it with
 * gmt_vec_fini(&message.bytes). When out of memory, a message becomes `failed` and stays so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/vec.h"

struct gmt_protobuf {
	GMT_VEC(uint8_t) bytes;
	bool failed;
};

/* Removes the content and keeps the memory. */
static inline void gmt_protobuf_clear(struct gmt_protobuf *message)
{
	message->bytes.count = 0;
}

/* Adds a field of type uint64, int64, enum or bool. */
void gmt_protobuf_number(struct gmt_protobuf *message, uint32_t field, uint64_t value);

/* Add a field of type double or float. */
void gmt_protobuf_double(struct gmt_protobuf *message, uint32_t field, double value);
void gmt_protobuf_float(struct gmt_protobuf *message, uint32_t field, float value);

/*
 * Adds a field of type string. A '?' replaces each character that cannot be shown
 * (base/safe_text.h).
 */
void gmt_protobuf_text(struct gmt_protobuf *message, uint32_t field, const char *text);

/* Adds a repeated field of numbers, packed. */
void gmt_protobuf_numbers(struct gmt_protobuf *message, uint32_t field, const uint64_t *values,
	size_t count);

/* Adds a field that is a message. */
void gmt_protobuf_message(struct gmt_protobuf *message, uint32_t field,
	const struct gmt_protobuf *child);

#endif

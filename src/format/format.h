/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FORMAT_H
#define GMT_FORMAT_FORMAT_H

/*
 * The snapshot format in C: what records.def, layers.def, spaces.def and kinds.def declare, and the
 * frame around it. docs/snapshot-format.md says the same in words, for readers in other languages.
 *
 * A file is gzip; inside stand a file header and blocks. A block is a table: rows of one record
 * kind, stored column by column.
 *
 *   file    magic[8] major:u16 minor:u16 features:u32 crc:u32      crc of the 16 bytes before it
 *   block   kind:u32 rows:u32 size_bytes:u32 crc:u32 payload       crc of the 12 bytes, then payload
 *   payload for each column: length:varint, bytes
 *
 * All integers are little endian; crc is the CRC-32 of zlib.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GMT_FORMAT_MAGIC "GMTRACE\n"

enum {
	GMT_FORMAT_MAJOR = 1, /* readers refuse a larger one */
	GMT_FORMAT_MINOR = 3, /* a larger one only adds */
	GMT_FILE_HEADER_BYTES = 20,
	GMT_BLOCK_HEADER_BYTES = 16,
	GMT_BLOCK_MAX_BYTES = 64 << 20, /* payload; readers refuse more */
	GMT_BLOCK_MAX_ROWS = 1 << 20, /* and never more than the payload has bytes */
	/* Feature flags: a reader refuses a file with a bit that it does not know. */
	GMT_FEATURES_KNOWN = 0,
};

/* Borrowed bytes, not ended by a NUL. */
struct gmt_slice {
	const char *text;
	uint32_t length;
};

struct gmt_list {
	const uint64_t *items;
	uint32_t count;
};

/* struct gmt_process, struct gmt_event, ...: one row of each kind. */
#define GMT_RECORD(number, name, NAME, meaning) struct gmt_##name {
#define GMT_FIELD(record, name, encoding, type, meaning) type name;
#define GMT_RECORD_END(name) };
#include "format/records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END

enum gmt_record_kind {
#define GMT_RECORD(number, name, NAME, meaning) GMT_RECORD_##NAME = number,
#define GMT_FIELD(record, name, encoding, type, meaning)
#define GMT_RECORD_END(name)
#include "format/records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END
};

/* Why there is nothing behind the last frame of a stack: `truncated` of `stack` and `frames`. */
enum gmt_stack_end {
	GMT_STACK_WHOLE,   /* it is the thread's outermost */
	GMT_STACK_CUT,     /* there are more than were asked for */
	GMT_STACK_STOPPED, /* who called it is not known */
};

enum gmt_layer {
#define GMT_LAYER(number, NAME, ...) GMT_LAYER_##NAME = number,
#include "format/layers.def"
#undef GMT_LAYER
};

enum gmt_space {
#define GMT_SPACE(number, NAME, ...) GMT_SPACE_##NAME = number,
#include "format/spaces.def"
#undef GMT_SPACE
};

enum gmt_kind {
#define GMT_KIND(number, NAME, ...) GMT_KIND_##NAME = number,
#include "format/kinds.def"
#undef GMT_KIND
};

enum gmt_mark_kind {
#define GMT_MARK_KIND(number, NAME, name, meaning) GMT_MARK_KIND_##NAME = number,
#include "format/mark_kinds.def"
#undef GMT_MARK_KIND
};

enum gmt_mark_source {
#define GMT_MARK_SOURCE(number, NAME, name, meaning) GMT_MARK_SOURCE_##NAME = number,
#include "format/mark_sources.def"
#undef GMT_MARK_SOURCE
};

enum {
	GMT_SPACE_COUNT = 23, /* above the largest number */
	GMT_KIND_COUNT = 21,  /* likewise */
	GMT_DEVICE_HOST = -1,    /* host memory belongs to no device */
	GMT_DEVICE_UNKNOWN = -2, /* the event does not say; a free finds it in the block */
};

enum gmt_sample_part {
#define GMT_SAMPLE_PART(bit, NAME, meaning) GMT_SAMPLE_##NAME = bit,
#include "format/sample_parts.def"
#undef GMT_SAMPLE_PART
};

enum gmt_side { GMT_SIDE_DEVICE, GMT_SIDE_HOST };

/* What the `address` of an event is; numbers of two realms do not meet. */
enum gmt_realm {
	GMT_REALM_ADDRESS,
	GMT_REALM_HANDLE,
	GMT_REALM_ARRAY,
	GMT_REALM_EXTERNAL,
	GMT_REALM_GRAPHICS,
	GMT_REALM_CONTEXT,
	GMT_REALM_MODULE,
	GMT_REALM_LIMIT,
	GMT_REALM_COUNT
};

/* Whose addresses an address is one of. */
enum gmt_family { GMT_FAMILY_CUDA, GMT_FAMILY_TORCH, GMT_FAMILY_CUSTOM, GMT_FAMILY_COUNT };

/* What ends a block besides its free. */
enum gmt_life { GMT_LIFE_PROCESS, GMT_LIFE_CONTEXT, GMT_LIFE_COUNTED };

enum gmt_stamp_when { GMT_STAMP_AFTER, GMT_STAMP_BEFORE };

/* Names for reports; NULL for a number that this version does not know. */
const char *gmt_layer_name(unsigned layer);
const char *gmt_space_name(unsigned space);
const char *gmt_kind_name(unsigned kind);
const char *gmt_mark_kind_name(unsigned kind);
const char *gmt_mark_source_name(unsigned source);
/* By space; number 0, which is none, tells of unknown ones. */
struct gmt_space_traits {
	uint8_t side, layer, realm, life;
};
extern const struct gmt_space_traits gmt_spaces[GMT_SPACE_COUNT];

/* Unknown spaces count as the device's, have addresses and last as long as the process. */
static inline const struct gmt_space_traits *gmt_space_traits(unsigned space)
{
	return &gmt_spaces[space < GMT_SPACE_COUNT && gmt_spaces[space].layer ? space : 0];
}

static inline enum gmt_side gmt_space_side(unsigned space)
{
	return gmt_space_traits(space)->side;
}

static inline enum gmt_layer gmt_space_layer(unsigned space)
{
	return gmt_space_traits(space)->layer;
}

static inline enum gmt_realm gmt_space_realm(unsigned space)
{
	return gmt_space_traits(space)->realm;
}

static inline enum gmt_life gmt_space_life(unsigned space)
{
	return gmt_space_traits(space)->life;
}

/*
 * Whether a layer's blocks are memory that the program got, and can leak: not what the driver takes for
 * itself, nor second sights of what is counted elsewhere.
 */
bool gmt_layer_is_got(unsigned layer);
/* Unknown layers have the driver's addresses. */
static inline enum gmt_family gmt_layer_family(unsigned layer)
{
	switch (layer) {
#define GMT_LAYER(number, NAME, name, family, meaning) \
	case number: \
		return GMT_FAMILY_##family;
#include "format/layers.def"
#undef GMT_LAYER
	}
	return GMT_FAMILY_CUDA;
}

/* A bit of each kind that is stamped before the call: once an event, so it is no look at a table. */
enum {
	GMT_KINDS_STAMPED_BEFORE = 0
#define GMT_KIND(number, NAME, name, when, if_refused, meaning) | GMT_STAMP_##when << number
#include "format/kinds.def"
#undef GMT_KIND
};

static inline enum gmt_stamp_when gmt_kind_stamp(unsigned kind)
{
	return kind < GMT_KIND_COUNT ? (enum gmt_stamp_when)(GMT_KINDS_STAMPED_BEFORE >> kind & 1) : GMT_STAMP_AFTER;
}

/* What a refused call of that kind is recorded as; 0: nothing is. */
unsigned gmt_kind_failure(unsigned kind);

/* How one column lies in its structure. */
struct gmt_field_info {
	const char *name;
	char encoding; /* 'U' 'I' 'D' 'S' 'L', see records.def */
	uint16_t offset;
	uint16_t size_bytes;
	const char *meaning;
};

/* The number in a cell of a column that is one ('U' 'I' 'D'); a negative one modulo 2^64. Here, because it runs once a cell. */
static inline uint64_t gmt_field_number(const struct gmt_field_info *field, const void *cell)
{
	bool is_signed = field->encoding == 'I';

	switch (field->size_bytes) {
	case 1:
		return is_signed ? (uint64_t)*(const int8_t *)cell : *(const uint8_t *)cell;
	case 2:
		return is_signed ? (uint64_t)*(const int16_t *)cell : *(const uint16_t *)cell;
	case 4:
		return is_signed ? (uint64_t)*(const int32_t *)cell : *(const uint32_t *)cell;
	default:
		return *(const uint64_t *)cell;
	}
}

struct gmt_record_info {
	const char *name;
	uint32_t number;
	uint32_t row_bytes; /* sizeof(struct gmt_NAME) */
	uint32_t field_count;
	const struct gmt_field_info *fields;
	const char *meaning;
};

enum { GMT_RECORD_MAX_FIELDS = 24 };

/* The record of that number; NULL when this version does not know it. All that it knows are below gmt_record_end. */
const struct gmt_record_info *gmt_record_info(uint32_t number);
uint32_t gmt_record_end(void);

/* Its field of that name; NULL when it has none. */
const struct gmt_field_info *gmt_record_field(const struct gmt_record_info *record, const char *name);

#endif

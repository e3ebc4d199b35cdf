/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FORMAT_H
#define GMT_FORMAT_FORMAT_H

/*
 * The recording format in C: the declarations of records.def, layers.def, spaces.def and
 * event_kinds.def, and the frame of a block. docs/internals/recording-format.md describes the same
 * in words, for readers in other languages.
 *
 * A file is gzip. It contains a file header and blocks. A block is a table: rows of one record
 * kind, stored column by column.
 *
 *   file    magic[8] major:u16 minor:u16 features:u32 crc:u32     crc of the 16 bytes before it
 *   block   kind:u32 rows:u32 size_bytes:u32 crc:u32 payload      crc of the 12 bytes, then payload
 *   payload for each column: length:varint, bytes
 *
 * All integers are little endian; crc is the CRC-32 of zlib.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GMT_FORMAT_MAGIC "GMTRACE\n"

enum {
	GMT_FORMAT_MAJOR = 1, /* readers refuse a larger version */
	GMT_FORMAT_MINOR = 3, /* a larger version only adds fields and records */
	GMT_FILE_HEADER_BYTES = 20,
	GMT_BLOCK_HEADER_BYTES = 16,
	GMT_BLOCK_MAX_BYTES = 64 << 20, /* of the payload; readers refuse more */
	GMT_BLOCK_MAX_ROWS = 1 << 20, /* a block never has more rows than its payload has bytes */
	/* Feature flags: a reader refuses a file with a bit that the reader does not know. */
	GMT_FEATURES_KNOWN = 0,
};

/* Borrowed bytes without a terminating NUL. */
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
#define GMT_RECORD_END(name) \
	} \
	;
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

/* Why a stack has no frame after its last one: the field `truncated` of `stack` and `frames`. */
enum gmt_stack_end {
	GMT_STACK_WHOLE,   /* the last frame is the thread's outermost frame */
	GMT_STACK_CUT,     /* the stack has more frames than the depth limit */
	GMT_STACK_STOPPED, /* the caller of the last frame is not known */
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

enum gmt_event_kind {
#define GMT_KIND(number, NAME, ...) GMT_KIND_##NAME = number,
#include "format/event_kinds.def"
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
	GMT_SPACE_COUNT = 23, /* greater than the largest space number */
	GMT_KIND_COUNT = 21,  /* greater than the largest kind number */
	GMT_DEVICE_HOST = -1,    /* host memory belongs to no device */
	GMT_DEVICE_UNKNOWN = -2, /* the event does not state the device; for a free, the block has it */
};

enum gmt_sample_part {
#define GMT_SAMPLE_PART(bit, NAME, meaning) GMT_SAMPLE_##NAME = bit,
#include "format/sample_parts.def"
#undef GMT_SAMPLE_PART
};

enum gmt_side { GMT_SIDE_DEVICE, GMT_SIDE_HOST };

/* Meaning of an event's `address`. Equal numbers in two realms are two different things. */
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

/* The address space that a layer's addresses belong to. */
enum gmt_family { GMT_FAMILY_CUDA, GMT_FAMILY_TORCH, GMT_FAMILY_CUSTOM, GMT_FAMILY_COUNT };

/* What ends a block in addition to its free. */
enum gmt_life { GMT_LIFE_PROCESS, GMT_LIFE_CONTEXT, GMT_LIFE_COUNTED };

enum gmt_stamp_when { GMT_STAMP_AFTER, GMT_STAMP_BEFORE };

/* Return the names for reports; NULL for a number that this version does not know. */
const char *gmt_layer_name(unsigned layer);
const char *gmt_space_name(unsigned space);
const char *gmt_event_kind_name(unsigned kind);
const char *gmt_mark_kind_name(unsigned kind);
const char *gmt_mark_source_name(unsigned source);

/* The traits of a space. gmt_spaces is indexed by space; entry 0 is for unknown spaces. */
struct gmt_space_traits {
	uint8_t side, layer, realm, life;
};
extern const struct gmt_space_traits gmt_spaces[GMT_SPACE_COUNT];

/*
 * Returns the traits of a space. Unknown spaces count as device memory, have addresses, and last as
 * long as the process.
 */
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
 * Returns whether a layer's blocks are memory that the program obtained and can leak. This excludes
 * the driver's own memory and views of memory that is counted elsewhere.
 */
bool gmt_layer_can_leak(unsigned layer);

/* Returns the family of a layer. Unknown layers have addresses of the CUDA driver. */
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

/* Returns whether the blocks of this layer and space have handles instead of addresses. */
static inline bool gmt_has_handles(unsigned layer, unsigned space)
{
	return gmt_layer_family(layer) == GMT_FAMILY_CUDA && gmt_space_realm(space) == GMT_REALM_HANDLE;
}

/*
 * One bit for each kind that is stamped before the call. A bit mask avoids a table lookup, because
 * the test runs once per event.
 */
enum {
	GMT_KINDS_STAMPED_BEFORE = 0
#define GMT_KIND(number, NAME, name, when, if_refused, meaning) | GMT_STAMP_##when << number
#include "format/event_kinds.def"
#undef GMT_KIND
};

static inline enum gmt_stamp_when gmt_event_kind_stamp(unsigned kind)
{
	return kind < GMT_KIND_COUNT ? (enum gmt_stamp_when)(GMT_KINDS_STAMPED_BEFORE >> kind & 1)
								 : GMT_STAMP_AFTER;
}

/*
 * Returns the kind under which a refused call of this kind is recorded; 0: such a call is not
 * recorded.
 */
unsigned gmt_event_kind_failure(unsigned kind);

/* How a column is stored, see records.def. */
enum gmt_encoding {
	GMT_ENCODING_UNSIGNED = 'U',
	GMT_ENCODING_SIGNED = 'I',
	GMT_ENCODING_DELTA = 'D',
	GMT_ENCODING_STRING = 'S',
	GMT_ENCODING_LIST = 'L',
};

/* The layout of one column in its structure. */
struct gmt_field_info {
	const char *name;
	char encoding; /* enum gmt_encoding */
	uint16_t offset;
	uint16_t size_bytes;
	const char *meaning;
};

/*
 * Returns the number in a cell of a numeric column; a negative number modulo 2^64.
 * The function is inline because it runs once per cell.
 */
static inline uint64_t gmt_field_number(const struct gmt_field_info *field, const void *cell)
{
	bool is_signed = field->encoding == GMT_ENCODING_SIGNED;

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

/*
 * Return the record with that number, or NULL if this version does not know it, and the number
 * after the largest known one.
 */
const struct gmt_record_info *gmt_record_info(uint32_t number);
uint32_t gmt_record_number_end(void);

/* Returns the record's field with that name, or NULL. */
const struct gmt_field_info *gmt_record_field(const struct gmt_record_info *record,
	const char *name);

#endif

/* SPDX-License-Identifier: MIT */
#include "format/file/member_description.h"

#include <string.h>

#include "format/encoding/little_endian.h"

/* Sizes in the extra field: its name and length, and the bytes after them. */
enum { NAME_BYTES = 4, FIELD_BYTES = GMT_MEMBER_EXTRA_BYTES - NAME_BYTES, WORDS = 8 };

/*
 * A gzip header with only an extra field, as zlib writes it on Unix. Byte SPEED_BYTE, which tells
 * how fast the compressor was, may differ.
 */
static const uint8_t gzip_header[GMT_MEMBER_FIXED_BYTES] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3 };
enum { SPEED_BYTE = 8 };

static const uint8_t name[NAME_BYTES] = { 'G', 'M', FIELD_BYTES, 0 };

void gmt_member_description_clear(struct gmt_member_description *description)
{
	*description = (struct gmt_member_description){ .min_stamp = UINT64_MAX };
}

void gmt_member_description_add(struct gmt_member_description *description,
	const struct gmt_record_info *record, const void *rows, uint32_t count)
{
	const struct gmt_field_info *stamp = gmt_record_field(record, "stamp"),
								*device = gmt_record_field(record, "device");

	description->kinds |= gmt_member_bit(record->number);
	for (uint32_t i = 0; stamp && i < count; i++) {
		uint64_t value = gmt_field_number(stamp,
			(const char *)rows + (size_t)i * record->row_bytes + stamp->offset);

		description->min_stamp = value < description->min_stamp ? value : description->min_stamp;
		description->max_stamp = value > description->max_stamp ? value : description->max_stamp;
	}
	for (uint32_t i = 0; device && i < count; i++)
		description->devices |= gmt_member_device_bit((int32_t)gmt_field_number(device,
			(const char *)rows + (size_t)i * record->row_bytes + device->offset));
	if (record->number == GMT_RECORD_CLOCK && count)
		description->clock = ((const struct gmt_clock *)rows)[count - 1];
}

void gmt_member_description_write(const struct gmt_member_description *description,
	const struct gmt_member_identity *identity, uint8_t ret_extra[GMT_MEMBER_EXTRA_BYTES])
{
	const uint64_t words[WORDS] = {
		identity->bytes,
		description->min_stamp,
		description->max_stamp,
		description->kinds,
		description->devices,
		description->clock.stamp,
		description->clock.monotonic_ns,
		description->clock.realtime_ns,
	};
	uint8_t *to = ret_extra + NAME_BYTES;

	_Static_assert(FIELD_BYTES == 2 * sizeof(uint32_t) + sizeof(words),
		"the field has exactly these bytes");
	memcpy(ret_extra, name, sizeof(name));
	gmt_put_u32(to, identity->checksum);
	gmt_put_u32(to + sizeof(uint32_t), identity->length);
	to += 2 * sizeof(uint32_t);
	for (size_t i = 0; i < WORDS; i++)
		gmt_put_u64(to + i * sizeof(*words), words[i]);
}

bool gmt_member_description_read(const uint8_t header[GMT_MEMBER_HEADER_BYTES],
	struct gmt_member_description *ret_description, struct gmt_member_identity *ret_identity)
{
	const uint8_t *at = header + GMT_MEMBER_FIXED_BYTES;
	uint64_t words[WORDS];

	if (memcmp(header, gzip_header, SPEED_BYTE) != 0 ||
		header[SPEED_BYTE + 1] != gzip_header[SPEED_BYTE + 1] ||
		gmt_get_u16(at) != GMT_MEMBER_EXTRA_BYTES || memcmp(at + 2, name, sizeof(name)) != 0)
		return false;
	at += 2 + sizeof(name);
	ret_identity->checksum = gmt_get_u32(at);
	ret_identity->length = gmt_get_u32(at + sizeof(uint32_t));
	at += 2 * sizeof(uint32_t);
	for (size_t i = 0; i < WORDS; i++)
		words[i] = gmt_get_u64(at + i * sizeof(*words));
	ret_identity->bytes = words[0];
	*ret_description = (struct gmt_member_description){
		.min_stamp = words[1],
		.max_stamp = words[2],
		.kinds = words[3],
		.devices = words[4],
		.clock = { .stamp = words[5], .monotonic_ns = words[6], .realtime_ns = words[7] },
	};
	return true;
}

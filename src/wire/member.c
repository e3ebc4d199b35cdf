/* SPDX-License-Identifier: MIT */
#include "wire/member.h"

#include <endian.h>
#include <string.h>

/* Of the field: its name, and how many bytes follow. */
enum { NAME_BYTES = 4, FIELD_BYTES = GMT_MEMBER_EXTRA_BYTES - NAME_BYTES };

/* A gzip header, as zlib writes it for a file on Unix with an extra field and nothing else. What it says of speed is not looked at. */
static const uint8_t fixed[GMT_MEMBER_FIXED_BYTES] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3 };
enum { SPEED = 8 };

static const uint8_t name[NAME_BYTES] = { 'G', 'M', FIELD_BYTES, 0 };

void gmt_member_clear(struct gmt_member_about *about)
{
	*about = (struct gmt_member_about){ .least_stamp = UINT64_MAX };
}

static const struct gmt_field_info *field_of(const struct gmt_record_info *record, const char *of)
{
	for (uint32_t f = 0; f < record->field_count; f++)
		if (strcmp(record->fields[f].name, of) == 0)
			return &record->fields[f];
	return NULL;
}

void gmt_member_add(struct gmt_member_about *about, const struct gmt_record_info *record, const void *rows, uint32_t count)
{
	const struct gmt_field_info *stamp = field_of(record, "stamp"), *device = field_of(record, "device");

	about->kinds |= gmt_member_bit(record->number);
	for (uint32_t i = 0; stamp && i < count; i++) {
		uint64_t value = gmt_field_number(stamp, (const char *)rows + (size_t)i * record->row_bytes + stamp->offset);

		about->least_stamp = value < about->least_stamp ? value : about->least_stamp;
		about->most_stamp = value > about->most_stamp ? value : about->most_stamp;
	}
	for (uint32_t i = 0; device && i < count; i++)
		about->devices |= gmt_member_device_bit((int32_t)gmt_field_number(device,
			(const char *)rows + (size_t)i * record->row_bytes + device->offset));
	if (record->number == GMT_RECORD_CLOCK && count)
		about->clock = ((const struct gmt_clock *)rows)[count - 1];
}

static uint8_t *put(uint8_t *to, uint64_t value, size_t bytes)
{
	value = htole64(value);
	memcpy(to, &value, bytes);
	return to + bytes;
}

static uint64_t get(const uint8_t **at, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, *at, bytes);
	*at += bytes;
	return le64toh(value);
}

void gmt_member_write(const struct gmt_member_about *about, const struct gmt_member_identity *identity,
	uint8_t ret_extra[GMT_MEMBER_EXTRA_BYTES])
{
	const uint64_t words[] = {
		identity->bytes, about->least_stamp, about->most_stamp, about->kinds, about->devices, about->clock.stamp,
		about->clock.monotonic_ns, about->clock.realtime_ns,
	};
	uint8_t *to = ret_extra;

	_Static_assert(FIELD_BYTES == 2 * sizeof(uint32_t) + sizeof(words), "all that is written, and no more");
	memcpy(to, name, sizeof(name));
	to = put(to + sizeof(name), identity->checksum, sizeof(uint32_t));
	to = put(to, identity->length, sizeof(uint32_t));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		to = put(to, words[i], sizeof(*words));
}

bool gmt_member_read(const uint8_t header[GMT_MEMBER_HEADER_BYTES], struct gmt_member_about *ret_about,
	struct gmt_member_identity *ret_identity)
{
	const uint8_t *at = header + GMT_MEMBER_FIXED_BYTES;

	if (memcmp(header, fixed, SPEED) != 0 || header[SPEED + 1] != fixed[SPEED + 1] ||
		get(&at, 2) != GMT_MEMBER_EXTRA_BYTES || memcmp(at, name, sizeof(name)) != 0)
		return false;
	at += sizeof(name);
	ret_identity->checksum = (uint32_t)get(&at, sizeof(uint32_t));
	ret_identity->length = (uint32_t)get(&at, sizeof(uint32_t));
	ret_identity->bytes = get(&at, sizeof(uint64_t));
	ret_about->least_stamp = get(&at, sizeof(uint64_t));
	ret_about->most_stamp = get(&at, sizeof(uint64_t));
	ret_about->kinds = get(&at, sizeof(uint64_t));
	ret_about->devices = get(&at, sizeof(uint64_t));
	ret_about->clock.stamp = get(&at, sizeof(uint64_t));
	ret_about->clock.monotonic_ns = get(&at, sizeof(uint64_t));
	ret_about->clock.realtime_ns = get(&at, sizeof(uint64_t));
	return true;
}

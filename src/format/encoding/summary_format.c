/* SPDX-License-Identifier: MIT */
#include "format/encoding/summary_format.h"

#include <string.h>

#include "format/encoding/inflate.h"
#include "format/encoding/little_endian.h"

#define GMT_RECORD(number, name, NAME, meaning) \
	static const struct gmt_field_info name##_fields[] = {
#define GMT_FIELD(record, field, kind, type, text) \
	{ .name = #field, \
		.encoding = #kind[0], \
		.offset = offsetof(struct gmt_##record, field), \
		.size_bytes = sizeof(type), \
		.meaning = text },
#define GMT_RECORD_END(name) \
	} \
	; \
	_Static_assert(sizeof(name##_fields) / sizeof(*name##_fields) <= GMT_RECORD_MAX_FIELDS, #name);
#include "format/summary_records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END

static const struct gmt_record_info records[] = {
#define GMT_RECORD(nr, rname, NAME, text) \
	{ .name = #rname, \
		.number = nr, \
		.row_bytes = sizeof(struct gmt_##rname), \
		.field_count = sizeof(rname##_fields) / sizeof(*rname##_fields), \
		.fields = rname##_fields, \
		.meaning = text },
#define GMT_FIELD(record, name, encoding, type, meaning)
#define GMT_RECORD_END(name)
#include "format/summary_records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END
};

const struct gmt_record_info *gmt_summary_record_info(uint32_t number)
{
	if (number < GMT_SUMMARY_FIRST)
		return gmt_record_info(number);
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++)
		if (records[i].number == number)
			return &records[i];
	return NULL;
}

const char *gmt_process_end_name(unsigned end)
{
	static const char *const names[] = {
#define GMT_PROCESS_END(NAME, name, words, meaning) name,
#include "format/process_ends.def"
#undef GMT_PROCESS_END
	};

	return names[end < GMT_PROCESS_ENDS ? end : GMT_PROCESS_END_UNKNOWN];
}

const char *gmt_process_end_words(unsigned end)
{
	static const char *const all_words[] = {
#define GMT_PROCESS_END(NAME, name, words, meaning) words,
#include "format/process_ends.def"
#undef GMT_PROCESS_END
	};

	return all_words[end < GMT_PROCESS_ENDS ? end : GMT_PROCESS_END_UNKNOWN];
}

void gmt_summary_make_header(uint8_t ret_bytes[GMT_FILE_HEADER_BYTES])
{
	memcpy(ret_bytes, GMT_SUMMARY_MAGIC, 8);
	gmt_put_u16(ret_bytes + 8, GMT_SUMMARY_MAJOR);
	gmt_put_u16(ret_bytes + 10, GMT_SUMMARY_MINOR);
	gmt_put_u32(ret_bytes + 12, 0);
	gmt_put_u32(ret_bytes + 16, gmt_checksum(0, ret_bytes, 16));
}

enum gmt_summary_header gmt_summary_read_header(const uint8_t bytes[GMT_FILE_HEADER_BYTES],
	unsigned *ret_major)
{
	if (memcmp(bytes, GMT_SUMMARY_MAGIC, 8) != 0 ||
		gmt_get_u32(bytes + 16) != gmt_checksum(0, bytes, 16))
		return GMT_SUMMARY_HEADER_NONE;
	*ret_major = gmt_get_u16(bytes + 8);
	return *ret_major > GMT_SUMMARY_MAJOR ? GMT_SUMMARY_HEADER_NEWER : GMT_SUMMARY_HEADER_OK;
}

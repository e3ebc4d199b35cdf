/* SPDX-License-Identifier: MIT */
#include "format/encoding/summary_format.h"

#include <string.h>

#include "format/encoding/inflate.h"
#include "format/encoding/little_endian.h"

#define GMT_RECORD_TABLES "format/summary_records.def"
#define GMT_RECORD_TABLES_FIRST GMT_SUMMARY_FIRST
#include "format/record_tables.h"

const struct gmt_record_info *gmt_summary_record_info(uint32_t number)
{
	if (number < GMT_SUMMARY_FIRST)
		return gmt_record_info(number);
	number -= GMT_SUMMARY_FIRST;
	return number < sizeof(records) / sizeof(*records) && records[number].name ? &records[number]
																			   : NULL;
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

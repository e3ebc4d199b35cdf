/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_ENCODING_SUMMARY_FORMAT_H
#define GMT_FORMAT_ENCODING_SUMMARY_FORMAT_H

/*
 * The format of summary files in C, from summary_records.def. docs/internals/summary-format.md
 * describes the same in words. A summary is one gzip member: a file header like that of a
 * recording, with another magic, then blocks in the encoding of recordings. No state.
 */

#include "format/format.h"

#define GMT_SUMMARY_MAGIC "GMTSUMM\n"

enum {
	GMT_SUMMARY_MAJOR = 1, /* readers refuse a larger version */
	GMT_SUMMARY_MINOR = 0, /* a larger version only adds fields and records */
	GMT_SUMMARY_FIRST = 64, /* number of the first record of summaries */
};

/* struct gmt_summary_head, ...: one row of each kind. */
#define GMT_RECORD(number, name, NAME, meaning) struct gmt_##name {
#define GMT_FIELD(record, name, encoding, type, meaning) type name;
#define GMT_RECORD_END(name) \
	} \
	;
#include "format/summary_records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END

enum gmt_summary_record_kind {
#define GMT_RECORD(number, name, NAME, meaning) GMT_RECORD_##NAME = number,
#define GMT_FIELD(record, name, encoding, type, meaning)
#define GMT_RECORD_END(name)
#include "format/summary_records.def"
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END
};

/* How a process ended. */
enum gmt_process_end {
#define GMT_PROCESS_END(NAME, name, words, meaning) GMT_PROCESS_END_##NAME,
#include "format/process_ends.def"
#undef GMT_PROCESS_END
	GMT_PROCESS_ENDS,
};

/*
 * Return the name of an end ("out_of_memory"), and the words for a user. An unknown number counts
 * as GMT_PROCESS_END_UNKNOWN.
 */
const char *gmt_process_end_name(unsigned end);
const char *gmt_process_end_words(unsigned end);

/*
 * Returns the record with that number, also if it is one of a recording; NULL if this version does
 * not know it.
 */
const struct gmt_record_info *gmt_summary_record_info(uint32_t number);

/* Makes the file header, of GMT_FILE_HEADER_BYTES. */
void gmt_summary_make_header(uint8_t ret_bytes[GMT_FILE_HEADER_BYTES]);

enum gmt_summary_header {
	GMT_SUMMARY_HEADER_OK,
	GMT_SUMMARY_HEADER_NONE,  /* not a summary */
	GMT_SUMMARY_HEADER_NEWER, /* a summary of a later major version */
};

/* Judges the first GMT_FILE_HEADER_BYTES bytes. *ret_major is set unless the result is NONE. */
enum gmt_summary_header gmt_summary_read_header(const uint8_t bytes[GMT_FILE_HEADER_BYTES],
	unsigned *ret_major);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Makes the tables of the records of a .def file: `records`, and the fields of each. To be included
 * once in a .c file, without a guard, after this definition:
 *
 *	#define GMT_RECORD_TABLES "format/records.def"
 *	#define GMT_RECORD_TABLES_FIRST 0
 *
 * `records` is indexed by the number of a record, minus GMT_RECORD_TABLES_FIRST. A number without a
 * record has an entry without a name.
 */

/* One array of columns for each record ... */
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
#include GMT_RECORD_TABLES
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END

/* ... and one array of records. */
static const struct gmt_record_info records[] = {
#define GMT_RECORD(nr, rname, NAME, text) \
	[nr - GMT_RECORD_TABLES_FIRST] = { .name = #rname, \
		.number = nr, \
		.row_bytes = sizeof(struct gmt_##rname), \
		.field_count = sizeof(rname##_fields) / sizeof(*rname##_fields), \
		.fields = rname##_fields, \
		.meaning = text },
#define GMT_FIELD(record, name, encoding, type, meaning)
#define GMT_RECORD_END(name)
#include GMT_RECORD_TABLES
#undef GMT_RECORD
#undef GMT_FIELD
#undef GMT_RECORD_END
};

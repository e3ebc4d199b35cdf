/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto, compressed by gzip. A sample is a site: its stack, six numbers, and labels
 * for what else the site is. A location is a place of `traces`, or a group of the profile.
 */
#include <string.h>

#include "base/budget.h"
#include "containers/intern.h"
#include "format/file/gzip.h"
#include "render/export/export.h"
#include "render/export/frames.h"
#include "render/export/protobuf.h"
#include "render/memory_names.h"

/* Fields of the messages of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	MAPPING_ID = 1,
	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

enum { GZIP_LEVEL = 6, MAPPING = 1 };

struct writer {
	const struct gmt_export *export;
	struct gmt_gzip *gzip;
	struct gmt_protobuf field, message, child; /* reused for each field of the profile */
	struct gmt_intern strings;   /* the string table, after its first entry "" */
	struct gmt_intern functions; /* pairs of name and file; an id is its number, less 1 */
	GMT_VEC(uint64_t) locations; /* of the current stack */
	bool failed;
};

static bool take(void *user, const unsigned char *bytes, size_t length)
{
	return fwrite(bytes, 1, length, user) == length;
}

/* Returns the index of a text in the string table. */
static uint64_t string_of(struct writer *writer, const char *text)
{
	uint32_t id;

	if (!*text)
		return 0;
	if (gmt_intern_text(&writer->strings, text, &id))
		return id + UINT64_C(1);
	writer->failed = true;
	return 0;
}

/* Writes writer->message as a field of the profile. */
static void write_message(struct writer *writer, uint32_t field)
{
	gmt_protobuf_clear(&writer->field);
	gmt_protobuf_message(&writer->field, field, &writer->message);
	writer->failed |= writer->field.failed;
	gmt_gzip_write(writer->gzip, writer->field.bytes.items, writer->field.bytes.count);
	gmt_protobuf_clear(&writer->message);
}

static void write_number(struct writer *writer, uint32_t field, uint64_t value)
{
	gmt_protobuf_clear(&writer->field);
	gmt_protobuf_number(&writer->field, field, value);
	gmt_gzip_write(writer->gzip, writer->field.bytes.items, writer->field.bytes.count);
}

static void write_sample_types(struct writer *writer)
{
	for (size_t i = 0; i < GMT_PROFILE_VALUES; i++) {
		const struct gmt_profile_value_info *info = &gmt_profile_values[i];

		gmt_protobuf_number(&writer->message, VALUE_TYPE_TYPE, string_of(writer, info->pprof_name));
		gmt_protobuf_number(&writer->message, VALUE_TYPE_UNIT,
			string_of(writer, info->is_bytes ? "bytes" : "count"));
		write_message(writer, PROFILE_SAMPLE_TYPE);
	}
	write_number(writer, PROFILE_DEFAULT_SAMPLE_TYPE,
		string_of(writer, gmt_profile_values[GMT_PROFILE_PEAK_BYTES].pprof_name));
}

static void add_label(struct writer *writer, const char *key, const char *text)
{
	gmt_protobuf_clear(&writer->child);
	gmt_protobuf_number(&writer->child, LABEL_KEY, string_of(writer, key));
	gmt_protobuf_number(&writer->child, LABEL_STR, string_of(writer, text));
	gmt_protobuf_message(&writer->message, SAMPLE_LABEL, &writer->child);
}

/* Returns the location of a group. */
static uint64_t group_location(const struct writer *writer, uint32_t group)
{
	return writer->export->traces->places.entries.count + UINT64_C(2) + group;
}

static void add_stack(struct writer *writer, const struct gmt_profile_row *row)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(writer->export->traces, row->stack, &count);

	writer->locations.count = 0;
	if (!gmt_vec_reserve(&writer->locations, count + UINT64_C(2))) {
		writer->failed = true;
		return;
	}
	/* Location 1 is the stack that was not recorded. */
	for (uint32_t i = 0; i < count; i++)
		writer->locations.items[writer->locations.count++] = places[i] + UINT64_C(2);
	if (!count)
		writer->locations.items[writer->locations.count++] = 1;
	if (writer->export->profile->groups)
		writer->locations.items[writer->locations.count++] = group_location(writer, row->group);
	gmt_protobuf_numbers(&writer->message, SAMPLE_LOCATION_ID, writer->locations.items,
		writer->locations.count);
}

static void write_sample(struct writer *writer, const struct gmt_profile_row *row)
{
	const struct gmt_export *export = writer->export;
	const struct gmt_process *process = &export->recording->process;
	const struct gmt_profile_groups *groups = export->profile->groups;

	add_stack(writer, row);
	gmt_protobuf_numbers(&writer->message, SAMPLE_VALUE, row->values, GMT_PROFILE_VALUES);
	add_label(writer, "device", gmt_device_text(row->device).text);
	add_label(writer, "layer", gmt_layer_name(export->profile->choice.layer));
	add_label(writer, "space", gmt_space_text(row->space).text);
	add_label(writer, "owner", gmt_owners_name(&export->traces->owners, row->owner));
	if (groups)
		add_label(writer, "group", gmt_profile_groups_name(groups, row->group));
	if (process->rank >= 0) {
		gmt_protobuf_clear(&writer->child);
		gmt_protobuf_number(&writer->child, LABEL_KEY, string_of(writer, "rank"));
		gmt_protobuf_number(&writer->child, LABEL_NUM, (uint64_t)process->rank);
		gmt_protobuf_message(&writer->message, SAMPLE_LABEL, &writer->child);
	}
	gmt_budget_spend_output(writer->message.bytes.count);
	write_message(writer, PROFILE_SAMPLE);
}

/* Says that names are complete, so that pprof does not search for symbols. */
static void write_mapping(struct writer *writer)
{
	gmt_protobuf_number(&writer->message, MAPPING_ID, MAPPING);
	gmt_protobuf_number(&writer->message, MAPPING_FILENAME,
		string_of(writer, writer->export->recording->executable));
	gmt_protobuf_number(&writer->message, MAPPING_HAS_FUNCTIONS, 1);
	gmt_protobuf_number(&writer->message, MAPPING_HAS_FILENAMES, 1);
	gmt_protobuf_number(&writer->message, MAPPING_HAS_LINE_NUMBERS, 1);
	write_message(writer, PROFILE_MAPPING);
}

/* Returns the number of a function. */
static uint64_t function_of(struct writer *writer, const char *name, const char *file)
{
	const uint64_t pair[] = { string_of(writer, name), string_of(writer, file) };
	uint32_t id;

	if (gmt_intern(&writer->functions, pair, sizeof(pair), &id))
		return id + UINT64_C(1);
	writer->failed = true;
	return 0;
}

static void write_location(struct writer *writer, uint64_t id, uint64_t function, uint32_t line)
{
	gmt_protobuf_clear(&writer->child);
	gmt_protobuf_number(&writer->child, LINE_FUNCTION_ID, function);
	gmt_protobuf_number(&writer->child, LINE_LINE, line);
	gmt_protobuf_number(&writer->message, LOCATION_ID, id);
	gmt_protobuf_number(&writer->message, LOCATION_MAPPING_ID, MAPPING);
	gmt_protobuf_message(&writer->message, LOCATION_LINE, &writer->child);
	write_message(writer, PROFILE_LOCATION);
}

static void write_locations(struct writer *writer)
{
	const struct gmt_traces *traces = writer->export->traces;
	const struct gmt_profile_groups *groups = writer->export->profile->groups;

	write_location(writer, 1, function_of(writer, GMT_EXPORT_NO_STACK, ""), 0);
	for (uint32_t id = 0; id < traces->places.entries.count && !writer->failed; id++) {
		const struct gmt_place *place = gmt_traces_place(traces, id);
		struct gmt_export_name buffer;

		write_location(writer, id + UINT64_C(2),
			function_of(writer, gmt_export_function(traces, place, &buffer),
				gmt_traces_string(traces, place->file)),
			place->line);
	}
	for (uint32_t id = 0; groups && id < groups->names.entries.count && !writer->failed; id++)
		write_location(writer, group_location(writer, id),
			function_of(writer, gmt_profile_groups_name(groups, id), ""), 0);
}

static void write_functions(struct writer *writer)
{
	for (uint32_t id = 0; id < writer->functions.entries.count; id++) {
		const uint64_t *pair = gmt_intern_get(&writer->functions, id)->bytes;

		gmt_protobuf_number(&writer->message, FUNCTION_ID, id + UINT64_C(1));
		gmt_protobuf_number(&writer->message, FUNCTION_NAME, pair[0]);
		gmt_protobuf_number(&writer->message, FUNCTION_SYSTEM_NAME, pair[0]);
		gmt_protobuf_number(&writer->message, FUNCTION_FILENAME, pair[1]);
		write_message(writer, PROFILE_FUNCTION);
	}
}

static void write_about(struct writer *writer)
{
	const struct gmt_recording *recording = writer->export->recording;

	write_number(writer, PROFILE_TIME_NANOS, recording->process.start_time_ns);
	write_number(writer, PROFILE_DURATION_NANOS, gmt_recording_duration_ns(recording));
	for (size_t i = 0; i < recording->command.count; i++)
		write_number(writer, PROFILE_COMMENT, string_of(writer, recording->command.items[i]));
}

static void write_strings(struct writer *writer)
{
	for (uint32_t id = 0; id <= writer->strings.entries.count; id++) {
		gmt_protobuf_clear(&writer->field);
		gmt_protobuf_text(&writer->field, PROFILE_STRING_TABLE,
			id ? gmt_intern_get(&writer->strings, id - 1)->bytes : "");
		writer->failed |= writer->field.failed;
		gmt_gzip_write(writer->gzip, writer->field.bytes.items, writer->field.bytes.count);
	}
}

static void write_profile(struct writer *writer)
{
	const struct gmt_profile *profile = writer->export->profile;

	write_sample_types(writer);
	for (size_t i = 0; i < profile->rows.count && !writer->failed && !gmt_budget_has_cut_output();
		i++)
		write_sample(writer, &profile->rows.items[i]);
	write_mapping(writer);
	write_locations(writer);
	write_functions(writer);
	write_about(writer);
	write_strings(writer);
}

enum gmt_status gmt_export_pprof(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	struct writer writer = { .export = export, .gzip = gmt_gzip_open(GZIP_LEVEL, take, file) };

	if (writer.gzip) {
		write_profile(&writer);
		/* A failure of the stream stays in the stream. */
		gmt_gzip_close(writer.gzip);
	}
	writer.failed |= !writer.gzip;
	gmt_vec_fini(&writer.field.bytes);
	gmt_vec_fini(&writer.message.bytes);
	gmt_vec_fini(&writer.child.bytes);
	gmt_vec_fini(&writer.locations);
	gmt_intern_fini(&writer.functions);
	gmt_intern_fini(&writer.strings);
	return writer.failed ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}

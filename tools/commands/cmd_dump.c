/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "render/text/dump.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/pipeline/dump_filter.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/shared_recordings.h"
#include "tools/recordings/standard_input.h"
#include "tools/recordings/newer_recordings_hint.h"
#include "tools/recordings/default_recording.h"
#include "tools/output/message.h"
#include "base/suggestion.h"
#include "format/encoding/decode_rows.h"
#include "source/source.h"

struct dump_options {
	bool json, strict;
	struct gmt_option_texts records;
	struct gmt_dump_filter filter;
};

#define OFFSET_OF(field) offsetof(struct dump_options, field)
const struct gmt_option_row gmt_option_rows_dump[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "one JSON object per line" },
	{ "record", 0, GMT_OPTION_TEXTS, "NAME", OFFSET_OF(records),
		"print only records of this kind; may be repeated" },
	{ "from", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET_OF(filter.from_option),
		"skip records before this moment: " GMT_MOMENT_MEANING },
	{ "until", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET_OF(filter.until_option),
		"skip records after this moment" },
	{ "device", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(filter.device),
		"skip records of other devices and of the host" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(strict),
		"exit with 4 if the file is incomplete or damaged" },
	{ 0 },
};
#undef OFFSET_OF

static bool is_record(const char *name)
{
	for (uint32_t number = 0; number < gmt_record_number_end(); number++) {
		const struct gmt_record_info *record = gmt_record_info(number);

		if (record && strcmp(name, record->name) == 0)
			return true;
	}
	return false;
}

static int unknown_record(const char *name)
{
	struct gmt_suggestion suggestion = { 0 };

	for (uint32_t number = 0; number < gmt_record_number_end(); number++)
		if (gmt_record_info(number))
			gmt_suggestion_consider(&suggestion, name, gmt_record_info(number)->name);
	gmt_message_error("dump: unknown record `%s`%s%s%s", name,
		suggestion.best ? "; did you mean `" : "", suggestion.best ? suggestion.best : "",
		suggestion.best ? "`?" : "");
	return GMT_EXIT_USAGE;
}

static bool is_wanted(const struct dump_options *options, const struct gmt_record_info *record)
{
	for (size_t i = 0; i < options->records.count; i++)
		if (strcmp(options->records.items[i], record->name) == 0)
			return true;
	return !options->records.count;
}

static uint64_t wanted_kinds(const struct dump_options *options)
{
	uint64_t kinds = 0;

	for (uint32_t number = 0; number < gmt_record_number_end(); number++)
		if (gmt_record_info(number) && is_wanted(options, gmt_record_info(number)))
			kinds |= gmt_member_bit(number);
	return kinds;
}

static enum gmt_status dump_block(const struct dump_options *options, struct gmt_decoder *decoder,
	const struct gmt_block *block, struct gmt_error *error)
{
	const struct gmt_record_info *record = gmt_record_info(block->kind);
	const void *rows;
	enum gmt_status status;

	if (!record || !is_wanted(options, record) ||
		!gmt_dump_filter_may_accept_block(&options->filter, block, record))
		return GMT_OK;
	status = gmt_decode_rows(decoder, block, &rows, error);
	for (uint32_t i = 0; !status && i < block->rows; i++) {
		const char *row = (const char *)rows + (size_t)i * record->row_bytes;

		if (!gmt_dump_filter_accepts_row(&options->filter, record, row))
			continue;
		if (options->json)
			gmt_dump_json(stdout, record, row);
		else
			gmt_dump_text(stdout, record, row);
	}
	return status;
}

static int dump_file(const char *path, const struct dump_options *options)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_error error = { 0 };
	struct gmt_source *source;
	struct gmt_block block;
	uint32_t recording_pid = 0;
	struct gmt_shared_recording *shared_recording =
		gmt_standard_input_is(path) ? NULL : gmt_shared_recordings_find(path, &recording_pid);
	enum gmt_status status = gmt_input_open(path, shared_recording, &source, &error);
	uint64_t blocks = 0;

	if (status) {
		gmt_shared_recording_close(shared_recording);
		return gmt_message_failure(&error);
	}
	if (!shared_recording)
		gmt_source_leave_out(source, &options->filter.members);
	/* Stop if the reader of stdout has gone away. */
	while (!ferror(stdout) && !(status = gmt_source_next(source, &block, &error))) {
		status = dump_block(options, &decoder, &block, &error);
		if (status)
			break;
		blocks++;
	}
	bool is_in_progress = recording_pid && gmt_source_is_cut(source);

	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
	gmt_shared_recording_close(shared_recording);
	if (!status || (status == GMT_END && blocks))
		return 0;
	if (status == GMT_END || (status == GMT_DAMAGED && !blocks)) {
		gmt_message_error("%s: cannot be read: %s", gmt_standard_input_name(path),
			status == GMT_END ? "it holds no recording" : error.text);
		return gmt_status_exit_code(GMT_FORMAT);
	}
	if (status == GMT_NO_FILE)
		gmt_message_error("%s: cannot be read: %s", gmt_standard_input_name(path), error.text);
	if (status != GMT_DAMAGED)
		return status == GMT_NO_FILE ? gmt_status_exit_code(status) : gmt_message_failure(&error);
	if (is_in_progress)
		gmt_message_hint("%s: in progress: process %u is still recording; this is the file so far",
			path, recording_pid);
	else
		gmt_message_warning("%s: %s; the records before that were printed",
			gmt_standard_input_name(path), error.text);
	return options->strict ? GMT_EXIT_INCOMPLETE : 0;
}

int gmt_cmd_dump(const struct gmt_command *command, int argc, char **argv)
{
	struct dump_options options = { .filter.device = UINT64_MAX };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (argc > 1)
		gmt_message_error("dump: one file at a time");
	if (argc > 1 || !gmt_default_recording("dump", &argc, argv))
		return GMT_EXIT_USAGE;
	for (size_t i = 0; i < options.records.count; i++)
		if (!is_record(options.records.items[i]))
			return unknown_record(options.records.items[i]);
	gmt_newer_recordings_hint(argv, 1);
	options.filter.kinds = wanted_kinds(&options);
	options.filter.reads_all = options.strict;
	code = gmt_dump_filter_init(&options.filter, argv[0]);
	if (!code)
		code = dump_file(argv[0], &options);
	gmt_dump_filter_fini(&options.filter);
	return code;
}

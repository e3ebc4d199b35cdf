/* SPDX-License-Identifier: MIT */
#include "base/budget.h"
#include "base/text.h"
#include "compaction/compact.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/pipeline/module_call_marks.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/newer_recordings_hint.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/output.h"
#include "tools/output/message.h"
#include "tools/pipeline/work_limit.h"
#include "format/encoding/decode_rows.h"
#include "format/encoding/encode_rows.h"
#include "format/file/sink.h"
#include "source/source.h"

enum { SLICE_EVENTS = 65536, GZIP_LEVEL = 6, MAX_TAIL_EVENTS = 65536 };

struct fold_options {
	const char *output;
	bool force;
	uint64_t events, seconds, steps, sites;
};

#define OFFSET_OF(field) offsetof(struct fold_options, field)
const struct gmt_option_row gmt_option_rows_fold[] = {
	{ "output", 'o', GMT_OPTION_TEXT, "FILE", OFFSET_OF(output),
		"write the smaller recording here" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(force),
		"allow --output to replace a recording or an input file" },
	{ "keep-events", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(events),
		"keep the last N events unchanged" },
	{ "keep-seconds", 0, GMT_OPTION_NUMBER, "S", OFFSET_OF(seconds),
		"keep the last S seconds unchanged" },
	{ "keep-steps", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(steps),
		"keep the last N steps unchanged" },
	{ "max-sites", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(sites),
		"merge the sites after the first N into sites without a stack" },
	{ 0 },
};
#undef OFFSET_OF

/* The output while it is written. */
struct output {
	struct gmt_encoder encoder;
	struct gmt_sink *sink;
	struct gmt_error error;
};

static bool write_rows(void *user, uint32_t kind, const void *rows, uint32_t count)
{
	struct output *output = user;

	return !gmt_encode_rows(&output->encoder, kind, rows, count, &output->error) &&
		!gmt_sink_push(output->sink, output->encoder.block.items, output->encoder.block.count,
			&output->error);
}

/* Gets the rows of each block that can be read. A false result stops the reading. */
typedef bool rows_callback(void *user, uint32_t kind, const void *rows, uint32_t count);

/*
 * Reads the file and calls `callback`. Returns GMT_OK also if the file is damaged after some
 * blocks. Prints a warning about the damage if `warns` is set.
 */
static enum gmt_status read_all(const char *path, rows_callback *callback, void *user, bool warns,
	struct gmt_error *error)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_source *source;
	struct gmt_block block;
	const void *rows;
	uint64_t blocks = 0;
	enum gmt_status status = gmt_input_open(path, NULL, &source, error);

	gmt_budget_begin();
	if (status)
		return status;
	while (!(status = gmt_source_next(source, &block, error))) {
		gmt_budget_add(block.size_bytes);
		/* Records that this version does not know cannot be compacted. */
		if (!gmt_record_info(block.kind))
			continue;
		status = gmt_decode_rows(&decoder, &block, &rows, error);
		if (status || !callback(user, block.kind, rows, block.rows))
			break;
		blocks++;
	}
	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
	if (status == GMT_END || status == GMT_DAMAGED) {
		if (!blocks)
			return gmt_error_set(error, GMT_FORMAT, "%s: cannot be read",
				gmt_standard_input_name(path));
		if (status == GMT_DAMAGED && warns)
			gmt_message_warning("%s: %s; the rest of the file is not included",
				gmt_standard_input_name(path), error->text);
		return GMT_OK;
	}
	return status;
}

static bool plan_rows(void *user, uint32_t kind, const void *rows, uint32_t count)
{
	gmt_compact_plan_rows(user, kind, rows, count);
	return true;
}

static bool compact_rows(void *user, uint32_t kind, const void *rows, uint32_t count)
{
	struct gmt_compactor *compactor = user;

	gmt_compact_rows(compactor, kind, rows, count);
	while (gmt_compact_work(compactor, SLICE_EVENTS))
		;
	return !gmt_compact_failed(compactor);
}

/* Finds the stamp up to which events are compacted. */
static enum gmt_status find_cut(const char *path, const struct fold_options *options,
	uint64_t *ret_cut, struct gmt_error *error)
{
	struct gmt_compact_keep keep = {
		options->events,
		options->seconds > UINT64_MAX / 1000000000 ? UINT64_MAX / 2 : options->seconds * 1000000000,
		options->steps,
	};
	struct gmt_compact_plan plan;
	enum gmt_status status;

	*ret_cut = UINT64_MAX;
	if (!keep.events && !keep.time_ns && !keep.steps)
		return GMT_OK;
	gmt_compact_plan_init(&plan, &keep);
	status = read_all(path, plan_rows, &plan, false, error);
	if (!status && plan.failed)
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	*ret_cut = gmt_compact_plan_cut(&plan);
	gmt_compact_plan_fini(&plan);
	return status;
}

/* Compacts `path` into an open sink. */
static enum gmt_status compact_into(const char *path, const struct fold_options *options,
	uint64_t cut, const struct gmt_module_call_marks *call_marks, struct output *output,
	struct gmt_error *error)
{
	struct gmt_compact_options compact_options = {
		.cut_stamp = cut,
		.max_tail_events = MAX_TAIL_EVENTS,
		.why = "gpumemtrace fold",
		.write = write_rows,
		.user = output,
		.marks = call_marks->marks.items,
		.mark_count = call_marks->marks.count,
		.max_sites = options->sites > UINT32_MAX ? UINT32_MAX : (uint32_t)options->sites,
	};
	struct gmt_compactor *compactor;
	uint8_t header[GMT_FILE_HEADER_BYTES];
	enum gmt_status status = gmt_compact_open(&compact_options, &compactor, error);

	if (status)
		return status;
	gmt_encode_file_header(header);
	status = gmt_sink_push(output->sink, header, sizeof(header), error);
	if (!status)
		status = read_all(path, compact_rows, compactor, true, error);
	gmt_compact_finish(compactor);
	while (!status && gmt_compact_work(compactor, SLICE_EVENTS))
		;
	if (!status && gmt_compact_failed(compactor)) {
		status = output->error.status ? output->error.status : GMT_NO_MEMORY;
		gmt_error_set(error, status, "%s",
			output->error.status ? output->error.text : "out of memory");
	}
	/* Users would trust the totals of a compacted recording, so they must not lack a part. */
	if (!status && gmt_budget_has_cut_results())
		status = gmt_error_set(error, GMT_WORK, "%s: not written", options->output);
	if (!status)
		gmt_message_hint("%s events were replaced by totals",
			gmt_text_count(gmt_compact_compacted_events(compactor)).text);
	gmt_compact_close(compactor);
	return status;
}

/* Writes the compacted recording. Returns the exit code. */
static int write_output(const char *path, const struct fold_options *options, struct gmt_output *to)
{
	struct output output = { 0 };
	struct gmt_module_call_marks call_marks = { 0 };
	struct gmt_error error = { 0 };
	enum gmt_status status, closed;
	uint64_t cut;

	status = find_cut(path, options, &cut, &error);
	if (!status)
		status = gmt_sink_open(gmt_output_descriptor(to), GZIP_LEVEL, &output.sink, &error);
	if (!status) {
		gmt_module_call_marks_detect(&call_marks, path);
		status = compact_into(path, options, cut, &call_marks, &output, &error);
		gmt_module_call_marks_fini(&call_marks);
		closed = gmt_sink_close(output.sink, status ? NULL : &error);
		status = status ? status : closed;
	}
	gmt_encoder_fini(&output.encoder);
	if (status == GMT_WRITE)
		gmt_message_error("%s: %s", options->output, error.text);
	return !status            ? 0
		: status == GMT_WRITE ? gmt_status_exit_code(status)
							  : gmt_message_failure(&error);
}

int gmt_cmd_fold(const struct gmt_command *command, int argc, char **argv)
{
	struct fold_options options = { 0 };
	struct gmt_output_rules rules = { .inputs = { { (const char *const *)argv, 1 } } };
	struct gmt_output *output;
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (argc != 1 || !options.output) {
		gmt_message_error(argc > 1 ? "fold: one file at a time"
				: argc             ? "fold: no output file is given: add -o FILE"
								   : "fold: no recording is given");
		return GMT_EXIT_USAGE;
	}
	gmt_newer_recordings_hint(argv, 1);
	rules.force = options.force;
	output = gmt_output_open_bytes(options.output, &rules);
	if (!output)
		return GMT_EXIT_UNREADABLE;
	/* Several passes read the input. */
	code = gmt_standard_input_keep(argv[0]);
	code = code ? code : write_output(argv[0], &options, output);
	if (code) {
		gmt_work_limit_report(argv[0]);
		gmt_output_discard(output);
		return code;
	}
	return gmt_output_close(output, 0);
}

/* SPDX-License-Identifier: MIT */
#include "tools/report/report_each.h"

#include "tools/output/document_stream.h"
#include "tools/output/message.h"
#include "tools/output/terminal.h"
#include "tools/report/report_each_parallel.h"
#include "tools/pipeline/owner_options.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/newer_recordings_hint.h"

static int report_each(const struct gmt_report_each *files, struct gmt_report_each_output *output)
{
	struct gmt_report_each_parallel *parallel = gmt_report_each_parallel_open(files, output);
	int code = 0;

	for (int i = 0; i < files->count; i++) {
		int answer;

		if (i && !files->options->json && !files->assemble)
			fputs("\n\n", output->file);
		if (!gmt_report_each_parallel_take(parallel, i, output, &answer))
			answer = files->report(files->context, files->paths[i], output);
		code = answer ? answer : code;
		output->is_reported |= !answer;
	}
	gmt_report_each_parallel_close(parallel);
	return code;
}

/* Same as report_each, for a document that files->assemble makes. */
static int report_document(const struct gmt_report_each *files,
	struct gmt_report_each_output *output)
{
	FILE *document = output->file;
	int code;

	output->file = gmt_document_temporary();
	if (!output->file) {
		gmt_message_error("out of memory");
		return GMT_EXIT_UNREADABLE;
	}
	code = report_each(files, output);
	if (output->is_reported &&
		(fflush(output->file) || ferror(output->file) ||
			!files->assemble(output->file, document))) {
		gmt_message_error("out of memory");
		output->is_reported = false;
		code = GMT_EXIT_UNREADABLE;
	}
	fclose(output->file);
	return code;
}

/* Opens the output, reports on all recordings and closes the output. */
static int report_to_output(const struct gmt_report_each *files)
{
	const struct gmt_report_each_options *options = files->options;
	struct gmt_output_rules rules = {
		.inputs = { { (const char *const *)files->paths, (size_t)files->count },
			{ options->owners.items, options->owners.count } },
		.force = options->force,
	};
	struct gmt_report_each_output output = { 0 };
	struct gmt_output *to;
	int code;

	to = files->assemble && !files->assembles_text
		? gmt_output_open_document(options->output, &rules)
		: gmt_output_open(options->output, &rules);
	if (!to)
		return GMT_EXIT_UNREADABLE;
	gmt_newer_recordings_hint(files->paths, (size_t)files->count);
	output.file = gmt_output_file(to);
	output.json = (struct gmt_json){ .file = output.file };
	output.color = gmt_output_enable_color(output.file, (enum gmt_color)options->color);
	output.columns = gmt_terminal_columns(output.file);
	output.is_utf8 = gmt_terminal_is_utf8();
	output.may_page = output.file == stdout && !options->json && !files->assemble;
	code = files->assemble ? report_document(files, &output) : report_each(files, &output);
	/* The output may lack its end. */
	if (code && !output.is_reported) {
		gmt_output_discard(to);
		return code;
	}
	if (!code && output.is_incomplete && options->strict)
		code = GMT_EXIT_INCOMPLETE;
	return gmt_output_close(to, code);
}

int gmt_report_each_recording(const struct gmt_report_each *files, struct gmt_owner_rules *rules)
{
	int code = gmt_owner_options_load_rules(&files->options->owners, rules);

	if (!code)
		code = report_to_output(files);
	gmt_owner_rules_fini(rules);
	return code;
}

/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/files.h"

#include "tools/output/message.h"
#include "tools/pipeline/files_parallel.h"
#include "tools/pipeline/owner_options.h"
#include "tools/recordings/input.h"
#include "tools/recordings/newer_recordings.h"

static int report_each(const struct gmt_files *files, struct gmt_files_output *output)
{
	struct gmt_files_parallel *parallel = gmt_files_parallel_open(files, output);
	int code = 0;

	for (int i = 0; i < files->count; i++) {
		int answer;

		if (i && !files->json)
			fputs("\n\n", output->file);
		if (!gmt_files_parallel_take(parallel, i, output, &answer))
			answer = files->report(files->context, files->paths[i], output);
		code = answer ? answer : code;
		output->is_reported |= !answer;
	}
	gmt_files_parallel_close(parallel);
	return code;
}

static int report_all(const struct gmt_files *files, struct gmt_files_output *output)
{
	bool is_list = files->json && files->count > 1;
	struct gmt_json *json = &output->json;
	int code;

	if (is_list) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "schema", files->schema);
		gmt_json_key_array(json, files->key);
	}
	code = report_each(files, output);
	if (is_list) {
		gmt_json_end_array(json);
		gmt_json_end_object(json);
	}
	if (json->needs_comma)
		fputc('\n', output->file);
	return code;
}

int gmt_files_report(const struct gmt_files *files)
{
	struct gmt_output_rules rules = {
		.inputs = { { (const char *const *)files->paths, (size_t)files->count } },
		.force = files->force,
	};
	struct gmt_files_output output = { 0 };
	struct gmt_output *to;
	int code;

	if (files->owners) {
		rules.inputs[1].items = files->owners->items;
		rules.inputs[1].count = files->owners->count;
	}
	to = gmt_output_open(files->output, &rules);
	if (!to)
		return GMT_EXIT_UNREADABLE;
	gmt_newer_report(files->paths, (size_t)files->count);
	output.file = gmt_output_file(to);
	output.json = (struct gmt_json){
		.file = output.file, .pretty = true, .inline_depth = files->count > 1 ? 4 : 2
	};
	output.color = gmt_output_color(output.file, files->color);
	code = report_all(files, &output);
	/* The text may end in the middle. */
	if (code && !output.is_reported) {
		gmt_output_discard(to);
		return code;
	}
	if (!code && output.is_incomplete && files->strict)
		code = GMT_EXIT_INCOMPLETE;
	return gmt_output_close(to, code);
}

int gmt_files_report_with_owners(const char *verb, const struct gmt_files *files,
	struct gmt_owner_rules *rules)
{
	int code;

	if (!files->count) {
		gmt_message_error("%s: no recording is given", verb);
		gmt_message_hint("a recording is named gpumemtrace.*.gmt.gz by default");
		return GMT_EXIT_USAGE;
	}
	code = gmt_owner_rules_load(files->owners, rules);
	if (!code)
		code = gmt_files_report(files);
	gmt_owner_rules_fini(rules);
	return code;
}

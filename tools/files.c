/* SPDX-License-Identifier: MIT */
#include "tools/files.h"

#include "tools/input.h"
#include "tools/output.h"

static int tell_all(const struct gmt_files *files, FILE *file, bool *ret_incomplete)
{
	bool is_list = files->json && files->count > 1;
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = files->count > 1 ? 4 : 2 };
	int code = 0;

	if (is_list) {
		gmt_json_begin_object(&json);
		gmt_json_key_text(&json, "schema", files->schema);
		gmt_json_key(&json, files->key);
		gmt_json_begin_array(&json);
	}
	for (int i = 0; i < files->count; i++) {
		int answer;

		if (i && !files->json)
			fputs("\n\n", file);
		answer = files->tell(files->user, files->paths[i], &json, file, ret_incomplete);
		code = answer ? answer : code;
	}
	if (is_list) {
		gmt_json_end_array(&json);
		gmt_json_end_object(&json);
	}
	if (json.needs_comma)
		fputc('\n', file);
	return code;
}

int gmt_files_tell(const struct gmt_files *files)
{
	FILE *file = gmt_output_open(files->output);
	bool incomplete = false;
	int code;

	if (!file)
		return GMT_EXIT_UNREADABLE;
	code = tell_all(files, file, &incomplete);
	if (!code && incomplete && files->strict)
		code = GMT_EXIT_INCOMPLETE;
	return gmt_output_close(file, files->output, code);
}

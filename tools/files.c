/* SPDX-License-Identifier: MIT */
#include "tools/files.h"

int gmt_files_tell(const struct gmt_files *files)
{
	bool is_list = files->json && files->count > 1;
	struct gmt_json json = { .file = files->file, .pretty = true, .inline_depth = files->count > 1 ? 4 : 2 };
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
			fputs("\n\n", files->file);
		answer = files->tell(files->user, files->paths[i], &json, files->file);
		code = answer ? answer : code;
	}
	if (is_list) {
		gmt_json_end_array(&json);
		gmt_json_end_object(&json);
	}
	if (json.needs_comma)
		fputc('\n', files->file);
	return code;
}

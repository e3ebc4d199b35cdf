/* SPDX-License-Identifier: MIT */
#include "render/function_coverage.h"

void gmt_function_coverage_json(const struct gmt_function_coverage *coverage, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key(json, "libraries");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < coverage->libraries.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "role", coverage->libraries.items[i].role);
		gmt_json_key_text(json, "path", coverage->libraries.items[i].path);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key(json, "unhooked");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < coverage->unhooked.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", coverage->unhooked.items[i]->name.text);
		gmt_json_key_text(json, "route", coverage->unhooked.items[i]->route.text);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key(json, "called");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < coverage->called.count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", coverage->called.items[i].api->name.text);
		gmt_json_key_text(json, "library", coverage->called.items[i].api->library.text);
		gmt_json_key_u64(json, "calls", coverage->called.items[i].calls);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key(json, "never_called");
	if (coverage->is_whole) {
		gmt_json_begin_array(json);
		for (size_t i = 0; i < coverage->never_called.count; i++)
			gmt_json_text(json, coverage->never_called.items[i].api->name.text);
		gmt_json_end_array(json);
	} else {
		gmt_json_null(json);
	}
	gmt_json_end_object(json);
}

/* SPDX-License-Identifier: MIT */
#include "tools/export/call_trees.h"

#include <stdlib.h>

#include "render/call_tree.h"
#include "render/export/export.h"
#include "tools/export/export_file.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/output/terminal.h"
#include "tools/recordings/default_recording.h"

/* Reads the value of --least. */
static bool read_percent(const char *text, double *ret_percent)
{
	char *end;

	*ret_percent = 1;
	if (!text)
		return true;
	*ret_percent = strtod(text, &end);
	return end != text && !*end && *ret_percent >= 0 && *ret_percent <= 100;
}

/* Shows the trees of the profile: a gmt_export_writer. */
static enum gmt_status show(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	const struct gmt_call_trees_options *options = export->user;
	const struct gmt_profile_value_info *number = &gmt_profile_values[export->value];
	struct gmt_console console = { file,
		gmt_output_enable_color(file, (enum gmt_color)options->color) };
	struct gmt_call_tree tree = { 0 };
	struct gmt_call_tree_view view = {
		.recording = export->recording,
		.traces = export->traces,
		.tree = &tree,
		.title = number->title,
		.layer = gmt_layer_name(export->choice.layer),
		.is_bytes = number->is_bytes,
		.columns = gmt_terminal_columns(file),
		.is_utf8 = gmt_terminal_is_utf8(),
	};
	enum gmt_status status =
		gmt_call_tree_compute(&tree, export->profile, export->value, export->traces, error);

	read_percent(options->least_percent, &view.least_percent);
	if (!status && options->json) {
		struct gmt_json json = { .file = file };

		gmt_call_tree_json(&view, &json);
		fputc('\n', file);
	} else if (!status && options->is_flame_graph) {
		gmt_flame_graph_text(&view, &console);
	} else if (!status) {
		gmt_call_tree_text(&view, &console);
	}
	gmt_call_tree_fini(&tree);
	return status;
}

int gmt_call_trees_run(const struct gmt_command *command, struct gmt_call_trees_options *options,
	int argc, char **argv)
{
	const struct gmt_export_format_info format = {
		.name = command->name,
		.kind = GMT_EXPORT_PROFILE,
		.options = GMT_EXPORT_STACKS | GMT_EXPORT_UNTIL | GMT_EXPORT_FROM | GMT_EXPORT_AT |
			GMT_EXPORT_LAYER | GMT_EXPORT_ONE_LAYER | GMT_EXPORT_DEVICE | GMT_EXPORT_VALUE |
			GMT_EXPORT_BY,
		.write = show,
	};
	double percent;
	int code = gmt_options_parse(command, options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (!gmt_export_options_check(&options->export, command->name, &format))
		return GMT_EXIT_USAGE;
	if (!read_percent(options->least_percent, &percent)) {
		gmt_message_error("%s: --least: `%s` is not valid: it takes a number from 0 to 100",
			command->name, options->least_percent);
		return GMT_EXIT_USAGE;
	}
	if (argc > 1) {
		gmt_message_error("%s: takes one recording", command->name);
		return GMT_EXIT_USAGE;
	}
	if (!gmt_default_recording(command->name, &argc, argv))
		return GMT_EXIT_USAGE;
	return gmt_export_show(&options->export, &format, options, argv[0], stdout);
}

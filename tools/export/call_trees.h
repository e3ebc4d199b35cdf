/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_EXPORT_CALL_TREES_H
#define GMT_TOOLS_EXPORT_CALL_TREES_H

/* What the verbs `tree` and `flamegraph` share: options, and the way from a recording to trees. */

#include "tools/export/export_options.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/symbol_options.h"

struct gmt_call_trees_options {
	struct gmt_export_options export;
	const char *least_percent; /* NULL: not given */
	bool json;
	int color; /* enum gmt_color */
	bool is_flame_graph;
};

/* The rows of the options, for a verb that has a struct gmt_call_trees_options. */
#define GMT_CALL_TREES_OFFSET(field) offsetof(struct gmt_call_trees_options, field)
#define GMT_CALL_TREES_EXPORT_OFFSET(field) offsetof(struct gmt_call_trees_options, export.field)
#define GMT_CALL_TREES_OPTIONS \
	{ "at", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, GMT_CALL_TREES_OFFSET(export.at), \
		"the memory that is live at this moment (default: peak)" }, \
		GMT_EXPORT_CHOICE_OPTIONS(GMT_CALL_TREES_EXPORT_OFFSET), \
		{ "value", 0, GMT_OPTION_WORD, GMT_EXPORT_VALUE_WORDS, \
			GMT_CALL_TREES_OFFSET(export.value), \
			"bytes or blocks that are live at --at (default: bytes), or the bytes or number of " \
			"all allocations" }, \
		GMT_EXPORT_BY_OPTION(GMT_CALL_TREES_OFFSET(export.by)), \
		{ "least", 0, GMT_OPTION_TEXT, "PERCENT", GMT_CALL_TREES_OFFSET(least_percent), \
			"leave out calls with a smaller share (default: 1)" }, \
		GMT_NATIVE_OPTION(GMT_CALL_TREES_OFFSET(export.native)), \
		GMT_SYMBOLS_OPTIONS(GMT_CALL_TREES_OFFSET(export.symbol_paths), \
			GMT_CALL_TREES_OFFSET(export.no_symbol_cache)), \
		GMT_OWNERS_OPTION(GMT_CALL_TREES_OFFSET(export.owners)), \
		{ "strict", 0, GMT_OPTION_FLAG, NULL, GMT_CALL_TREES_OFFSET(export.strict), \
			"exit with 4 if the recording is incomplete" }

/* Runs the verb on one recording, or the newest. Prints errors. Returns the exit code. */
struct gmt_command;
int gmt_call_trees_run(const struct gmt_command *command, struct gmt_call_trees_options *options,
	int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_EXPORT_EXPORT_OPTIONS_H
#define GMT_TOOLS_EXPORT_EXPORT_OPTIONS_H

/* The options of `export`. Each format has some of them (src/render/export/export_formats.def). */

#include <stdbool.h>
#include <stdint.h>

#include "tools/options/moment.h"
#include "tools/options/options.h"
#include "tools/pipeline/resolve_stretch.h"

enum { GMT_EXPORT_UNSET = -1 }; /* a word that was not given */

/* The words of --value: which number a format with one number for each stack shows. */
enum gmt_export_value_word {
	GMT_EXPORT_VALUE_BYTES,
	GMT_EXPORT_VALUE_BLOCKS,
	GMT_EXPORT_VALUE_ALLOCATED,
	GMT_EXPORT_VALUE_ALLOCATIONS,
};
#define GMT_EXPORT_VALUE_WORDS "bytes|blocks|allocated|allocations"

struct gmt_export_options {
	int format; /* enum gmt_export_format */
	const char *output; /* NULL: not given */
	bool strict, force;
	/* of tables */
	const char *python;
	struct gmt_option_texts tables;
	uint64_t partition, parallel;
	/* of files */
	struct gmt_option_texts symbol_paths, owners;
	bool no_symbol_cache;
	int native;
	struct gmt_moment at, until;
	struct gmt_stretch_option stretch;
	int layer; /* index in the words of layers.def, which are in order of their numbers */
	const char *device;
	int value; /* enum gmt_export_value_word */
	int by; /* enum gmt_table_grouping */
	uint64_t max_events; /* UINT64_MAX: not given */
};

/* The words of --layer: "|cuda|torch|...", as in layers.def. */
extern const char gmt_export_layer_words[];

/* The words of --by: "|line|function|...", as in table_keys.def. */
extern const char gmt_export_by_words[];

/*
 * The rows that choose which memory is shown. `OFFSET` is a macro: the offset of a field of struct
 * gmt_export_options.
 */
#define GMT_EXPORT_CHOICE_OPTIONS(OFFSET) \
	{ "until", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET(until), \
		"only what happened up to this moment: " GMT_MOMENT_MEANING }, \
		{ "from", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET(stretch.from), \
			"only what happened from this moment on" }, \
		{ "phase", 0, GMT_OPTION_TEXT, "NAME", OFFSET(stretch.phase), \
			"only what happened in the last phase of this name" }, \
		{ "layer", 0, GMT_OPTION_WORD, gmt_export_layer_words + 1, OFFSET(layer), \
			"the memory of this layer (default: the one that the report begins with)" }, \
		{ "device", 0, GMT_OPTION_TEXT, "N|host", OFFSET(device), \
			"the memory of this GPU, or of the host (default: all)" }

/* The row of --by, for formats with stacks. */
#define GMT_EXPORT_BY_OPTION(offset) \
	{ "by", 0, GMT_OPTION_WORD, gmt_export_by_words + 1, offset, \
		"put a frame below the GPU's: the line, owner, step ... of the stack, as in report --by" }

/* Options of which none is given. */
#define GMT_EXPORT_OPTIONS_UNSET \
	{ .native = GMT_EXPORT_UNSET, \
		.layer = GMT_EXPORT_UNSET, \
		.value = GMT_EXPORT_UNSET, \
		.by = GMT_EXPORT_UNSET, \
		.max_events = UINT64_MAX }

#endif

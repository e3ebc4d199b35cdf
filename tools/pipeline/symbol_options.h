/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_PIPELINE_SYMBOL_OPTIONS_H
#define GMT_TOOLS_PIPELINE_SYMBOL_OPTIONS_H

/*
 * Options of the verbs that show native frames: which frames they show, in which folders they
 * search symbols, and whether they use the cache of symbols.
 */

#include "reader/symbols/symbols_cache.h"
#include "tools/options/options.h"

/* The row of --native, for a verb that has an int (enum gmt_traces_native) at `offset`. */
#define GMT_NATIVE_OPTION(offset) \
	{ "native", 0, GMT_OPTION_WORD, "trimmed|all|none", offset, \
		"native frames: all except the Python interpreter's (default), all, " \
		"or none if the stack has Python frames" }

/* The rows, for a verb that has a struct gmt_option_texts at `folders` and a bool at `no_cache`. */
#define GMT_SYMBOLS_OPTIONS(folders, no_cache) \
	{ "symbol-path", 0, GMT_OPTION_TEXTS, "DIR", folders, \
		"search symbols in this folder too, by build-id; may be repeated" }, \
		{ "no-symbol-cache", 0, GMT_OPTION_FLAG, NULL, no_cache, \
			"do not use or write the cache of symbols" }

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_TEXT_BEFORE_RELOCATION_H
#define GMT_RUNTIME_TEXT_BEFORE_RELOCATION_H

/*
 * Text functions for code that may run before this library is relocated: in the resolver of an
 * indirect function, or in getenv. They call no function and read no data that needs a relocation.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Keeps the compiler from inserting calls of strlen and similar functions, because libc may not be
 * relocated yet.
 */
#ifdef __clang__
#define GMT_EARLY __attribute__((no_builtin, no_stack_protector))
#else
#define GMT_EARLY __attribute__((optimize("no-tree-loop-distribute-patterns"), no_stack_protector))
#endif

/* Returns the length of `prefix` if `text` begins with it. Returns 0 otherwise. */
GMT_EARLY static inline size_t gmt_early_skip(const char *text, const char *prefix)
{
	size_t i = 0;

	for (; prefix[i]; i++)
		if (text[i] != prefix[i])
			return 0;
	return i;
}

/*
 * Returns whether `item`, "key=value", is in force among the options. Reads them in the same way as
 * options/recorder_options.c: colons separate items, quotes surround values, and the last of
 * several items with the same key counts. `other` is the same key with its other value.
 */
GMT_EARLY static inline bool gmt_early_has_item(const char *options, const char *item,
	const char *other)
{
	/* The rest that must still match; NULL: the current item does not match. */
	const char *wanted = item, *unwanted = other;
	bool is_in_force = false;
	char quote = 0;

	for (;; options++) {
		if (*options && (quote ? *options == quote : (*options == '\'' || *options == '"'))) {
			quote = quote ? 0 : *options;
		} else if (!*options || (*options == ':' && !quote)) {
			/* An item with an unclosed quote is ignored. */
			if (wanted && !*wanted && !quote)
				is_in_force = true;
			else if (unwanted && !*unwanted && !quote)
				is_in_force = false;
			if (!*options)
				return is_in_force;
			wanted = item;
			unwanted = other;
		} else {
			wanted = wanted && *wanted == *options ? wanted + 1 : NULL;
			unwanted = unwanted && *unwanted == *options ? unwanted + 1 : NULL;
		}
	}
}

#endif

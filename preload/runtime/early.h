/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_EARLY_H
#define GMT_RUNTIME_EARLY_H

/*
 * Text, for code that runs before this library is relocated: in the resolver of an indirect function, in getenv. It calls
 * nothing and reads nothing that must have been relocated. No state.
 */

#include <stdbool.h>
#include <stddef.h>

/* Compiled into no call of strlen or the like: libc's functions may not be relocated yet. */
#define GMT_EARLY __attribute__((optimize("no-tree-loop-distribute-patterns"), no_stack_protector))

/* How many characters `text` shares with the whole of `prefix`; 0 when they differ before its end. */
GMT_EARLY static inline size_t gmt_early_skip(const char *text, const char *prefix)
{
	size_t i = 0;

	for (; prefix[i]; i++)
		if (text[i] != prefix[i])
			return 0;
	return i;
}

/*
 * Whether `item`, "key=value", is in force among the options, read as options/recorder_options.c reads them: items between colons,
 * quotes around values, and the last of several counts. `other` is the same key with its other value.
 */
GMT_EARLY static inline bool gmt_early_has_item(const char *options, const char *item, const char *other)
{
	const char *wanted = item, *unwanted = other; /* what is left of each; NULL: the current item is another one */
	bool is_in_force = false;
	char quote = 0;

	for (;; options++) {
		if (*options && (quote ? *options == quote : (*options == '\'' || *options == '"'))) {
			quote = quote ? 0 : *options;
		} else if (!*options || (*options == ':' && !quote)) {
			/* An item whose quote is never closed is not taken. */
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

/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRELOAD_EARLY_H
#define GMT_PRELOAD_EARLY_H

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

/* Whether `item`, "key=value", is among the options as config.c reads them: items between colons, quotes around values. */
GMT_EARLY static inline bool gmt_early_has_item(const char *options, const char *item)
{
	const char *wanted = item; /* what is left of it; NULL: this item is another one */

	for (;; options++) {
		if (*options == '\'' || *options == '"')
			continue;
		if (!*options || *options == ':') {
			if (wanted && !*wanted)
				return true;
			if (!*options)
				return false;
			wanted = item;
		} else {
			wanted = wanted && *wanted == *options ? wanted + 1 : NULL;
		}
	}
}

#endif

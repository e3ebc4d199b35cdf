/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_EXIT_CODES_H
#define GMT_TOOLS_OUTPUT_EXIT_CODES_H

/* Exit codes that all verbs share; see EXIT STATUS in gpumemtrace(1). */
enum {
	GMT_EXIT_USAGE = 2,
	GMT_EXIT_UNREADABLE = 3, /* an input cannot be read, or an output cannot be written */
	GMT_EXIT_INCOMPLETE = 4,
};

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_FUZZ_OUTPUT_H
#define GMT_FUZZ_OUTPUT_H

/*
 * The targets render to these files. The text is checked and discarded. The process aborts if the
 * text has a byte that is unsafe for a terminal, or if JSON is invalid.
 */

#include <stdio.h>

enum fuzz_form { FUZZ_TEXT, FUZZ_JSON, FUZZ_XML, FUZZ_FORMS };

/* Returns the file of this form. It has no colours. */
FILE *fuzz_output(enum fuzz_form form);

/* Checks that the text since the last call is complete. JSON: one or more whole values. */
void fuzz_output_end(enum fuzz_form form);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_FUZZ_OUTPUT_H
#define GMT_FUZZ_OUTPUT_H

/*
 * Where the targets render to: what is written is looked at and thrown away. The process is aborted
 * when a byte is in it that no terminal must see, or JSON is none.
 */

#include <stdio.h>

enum fuzz_form { FUZZ_TEXT, FUZZ_JSON, FUZZ_XML, FUZZ_FORMS };

/* The file of that form, without colours. */
FILE *fuzz_output(enum fuzz_form form);

/* All that was written since the last call is whole. JSON: one or more values. */
void fuzz_output_end(enum fuzz_form form);

#endif

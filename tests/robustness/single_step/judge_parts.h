/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_JUDGE_PARTS_H
#define GMT_TESTS_JUDGE_PARTS_H

/* The list of calls that are checked off by the recorded events. Only judge_*.c use it. */

#include "judge.h"

struct checklist {
	const struct judge_calls *calls;
	uint64_t made, recorded;
	char *text; /* the first error; empty: none */
};

/* Begins a list. Only one list can exist at a time. */
void checklist_begin(struct checklist *list, const struct judge_calls *calls, char *ret_text);

/* Checks off an event of the recording. */
void checklist_event(struct checklist *list, bool is_alloc, uint64_t address, uint64_t size_bytes);

/* Call after all events. Compares the missing calls with the losses that the recorder counted. */
void checklist_end(struct checklist *list, uint64_t lost, const struct judge_allowance *allowance);

/* Notes an error, unless the list already has one. */
__attribute__((format(printf, 2, 3))) void checklist_wrong(struct checklist *list,
	const char *format, ...);

#endif

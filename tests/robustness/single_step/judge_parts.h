/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_JUDGE_PARTS_H
#define GMT_TESTS_JUDGE_PARTS_H

/* The list of calls that the recorded events are checked off against; for judge_*.c alone. */

#include "judge.h"

struct checklist {
	const struct judge_calls *calls;
	uint64_t made, recorded;
	char *text; /* what is wrong first; empty: nothing */
};

/* One list at a time. */
void checklist_begin(struct checklist *list, const struct judge_calls *calls, char *ret_text);

/* An event of the recording. */
void checklist_event(struct checklist *list, bool is_alloc, uint64_t address, uint64_t size_bytes);

/* All events were given: compares what is missing with what the recorder has counted as lost. */
void checklist_end(struct checklist *list, uint64_t lost, const struct judge_allowance *allowance);

/* Notes what is wrong, unless something is already. */
__attribute__((format(printf, 2, 3))) void checklist_wrong(struct checklist *list,
	const char *format, ...);

#endif

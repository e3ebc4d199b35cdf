/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "judge_parts.h"

/* NOT_MADE: the process made no such call. MADE: it made the call, but no event was read yet. */
enum { NOT_MADE, MADE, RECORDED };

/* The state of each allocation and of each free, by the number of the allocation. */
static uint8_t allocs[STEP_CALLS], frees[STEP_CALLS];

void checklist_wrong(struct checklist *list, const char *format, ...)
{
	va_list arguments;

	if (list->text[0])
		return;
	va_start(arguments, format);
	vsnprintf(list->text, JUDGE_TEXT_BYTES, format, arguments);
	va_end(arguments);
}

/*
 * Finds the number of the allocation with this address. False: the address is not from the driver.
 */
static bool number_of(uint64_t address, uint32_t *ret_number)
{
	uint64_t number = (address - STEP_FIRST_ADDRESS) >> STEP_ADDRESS_SHIFT;

	*ret_number = (uint32_t)number;
	return address >= STEP_FIRST_ADDRESS && number < STEP_CALLS &&
		address == STEP_FIRST_ADDRESS + (number << STEP_ADDRESS_SHIFT);
}

/* Returns the state of a call, or NULL if the call is not an allocation or a free. */
static uint8_t *entry_of(const struct step_call *call)
{
	uint32_t number;

	if (!number_of(call->address, &number))
		return NULL;
	return call->kind == STEP_CALL_ALLOC ? &allocs[number]
		: call->kind == STEP_CALL_FREE   ? &frees[number]
										 : NULL;
}

void checklist_begin(struct checklist *list, const struct judge_calls *calls, char *ret_text)
{
	*list = (struct checklist){ .calls = calls, .text = ret_text };
	ret_text[0] = 0;
	for (uint32_t i = calls->first; i < calls->last; i++) {
		const struct step_call *call = &calls->step_log->calls[i];
		uint8_t *entry = entry_of(call);

		if (!entry || call->pid != (uint32_t)calls->pid)
			continue;
		*entry = MADE;
		list->made++;
	}
}

void checklist_event(struct checklist *list, bool is_alloc, uint64_t address, uint64_t size_bytes)
{
	const char *what = is_alloc ? "allocation" : "free";
	uint32_t number;
	uint8_t *entry = !number_of(address, &number) ? NULL
		: is_alloc                                ? &allocs[number]
												  : &frees[number];

	if (!entry || *entry == NOT_MADE) {
		checklist_wrong(list, "a recorded %s was never made (0x%" PRIx64 ", %" PRIu64 " bytes)",
			what, address, size_bytes);
		return;
	}
	if (*entry == RECORDED)
		checklist_wrong(list, "one %s is recorded twice (0x%" PRIx64 ")", what, address);
	else
		list->recorded++;
	*entry = RECORDED;
	if (is_alloc && list->calls->step_log->calls[number].size_bytes != size_bytes)
		checklist_wrong(list, "an allocation of %" PRIu64 " bytes is recorded with %" PRIu64,
			list->calls->step_log->calls[number].size_bytes, size_bytes);
}

/* Returns the size of the block that a call allocated or freed. */
static uint64_t size_of(const struct judge_calls *calls, const struct step_call *call)
{
	uint32_t number;

	return number_of(call->address, &number) ? calls->step_log->calls[number].size_bytes : 0;
}

/* The calls of the list that have no event. */
struct missing {
	const struct step_call *first; /* NULL: no call is missing */
	uint64_t program_calls; /* number of them that the program itself made, not its handler */
};

/* Finds the missing calls, and clears the list. */
static struct missing find_missing(const struct checklist *list)
{
	struct missing missing = { 0 };

	for (uint32_t i = list->calls->first; i < list->calls->last; i++) {
		const struct step_call *call = &list->calls->step_log->calls[i];
		uint8_t *entry = entry_of(call);

		if (!entry || call->pid != (uint32_t)list->calls->pid)
			continue;
		if (*entry == MADE) {
			/* The handler has a size of its own (step_log.h). */
			bool is_by_program = size_of(list->calls, call) != STEP_OF_HANDLER;

			/* An error message names a call of the program, if there is one. */
			if (!missing.first || (is_by_program && !missing.program_calls))
				missing.first = call;
			missing.program_calls += is_by_program;
		}
		*entry = NOT_MADE;
	}
	return missing;
}

void checklist_end(struct checklist *list, uint64_t lost, const struct judge_allowance *allowance)
{
	const struct missing missing = find_missing(list);
	uint64_t count = list->made - list->recorded,
			 size_bytes = missing.first ? size_of(list->calls, missing.first) : 0;
	const char *maker = size_bytes == STEP_OF_HANDLER ? "handler" : "program";
	const char *kind =
		missing.first && missing.first->kind == STEP_CALL_FREE ? "free" : "allocation";

	if (count > lost + allowance->in_flight)
		checklist_wrong(list,
			"%" PRIu64 " of %" PRIu64 " calls are neither recorded nor counted: %" PRIu64
			" are recorded, %" PRIu64 " counted as lost; first: the %s's %s of %" PRIu64 " bytes",
			count - lost, list->made, list->recorded, lost, maker, kind, size_bytes);
	if (lost > count + allowance->counted_twice)
		checklist_wrong(list,
			"%" PRIu64 " calls are counted as lost, but %" PRIu64
			" of them are recorded or were never made",
			lost, lost - count);
	if (missing.program_calls > allowance->missing_program_calls)
		checklist_wrong(list,
			"%" PRIu64 " of the program's own calls are not recorded; first: the %s of %" PRIu64
			" bytes",
			missing.program_calls, kind, size_bytes);
}

/* SPDX-License-Identifier: MIT */
/*
 * What a program calls to say where it is. include/gpumemtrace.h and python/gpumemtrace.py find these
 * functions when this library is there, and do nothing when it is not.
 */
#include <stddef.h>
#include <string.h>

#include "observe/phases.h"
#include "record/mark.h"
#include "record/session.h"

#define EXPORTED __attribute__((visibility("default")))

void gpumemtrace_step(void) EXPORTED;
void gpumemtrace_phase_push(const char *name) EXPORTED;
void gpumemtrace_phase_pop(void) EXPORTED;
void gpumemtrace_mark(const char *name) EXPORTED;
int gpumemtrace_is_recording(void) EXPORTED;

static size_t length_of(const char *name)
{
	/* As much as decides where a name is cut. */
	return name ? strnlen(name, GMT_MARK_NAME_BYTES + 1) : 0;
}

void gpumemtrace_step(void)
{
	gmt_mark(GMT_MARK_KIND_STEP, GMT_MARK_SOURCE_PROGRAM, NULL, 0, 0);
}

void gpumemtrace_phase_push(const char *name)
{
	gmt_phase_push(GMT_MARK_SOURCE_PROGRAM, name, length_of(name), 0);
}

void gpumemtrace_phase_pop(void)
{
	gmt_phase_pop(GMT_MARK_SOURCE_PROGRAM, 0);
}

void gpumemtrace_mark(const char *name)
{
	gmt_mark(GMT_MARK_KIND_POINT, GMT_MARK_SOURCE_PROGRAM, name, length_of(name), 0);
}

int gpumemtrace_is_recording(void)
{
	return gmt_session_may_begin();
}

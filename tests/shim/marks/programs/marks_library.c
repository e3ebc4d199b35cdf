/* SPDX-License-Identifier: MIT */
#include "marks_library.h"

#include <gpumemtrace.h>

__attribute__((visibility("default"))) void library_push(const char *name)
{
	gpumemtrace_phase_push(name);
}

__attribute__((visibility("default"))) void library_pop(void)
{
	gpumemtrace_phase_pop();
}

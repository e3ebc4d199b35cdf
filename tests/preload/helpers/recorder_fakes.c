/* SPDX-License-Identifier: MIT */
/* Fakes of recorder functions for tests under ThreadSanitizer. */
#include <link.h>
#include <stddef.h>

#include "interpose/loaded_objects.h"
#include "runtime/recorder_stack.h"

void gmt_objects_visit(int (*look)(struct dl_phdr_info *info, size_t size, void *argument),
	void *argument)
{
	dl_iterate_phdr(look, argument);
}

/* Runs the work on the caller's stack: ThreadSanitizer does not support switched stacks. */
bool gmt_recorder_stack_run(void (*work)(void *argument), void *argument)
{
	work(argument);
	return true;
}

/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/rules.h"
#include "writer/modules.h"
#include "writer/session.h"
#include "interpose/originals.h"
#include "producer/thread.h"

/*
 * dlclose is taken over because an object that goes takes its addresses along: what is loaded is noted
 * down first, stacks taken afterwards belong to a new module map, and calling objects are looked up
 * anew. dlopen is left alone: taking it over would change whose RUNPATH applies.
 */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
	if (gmt_this_thread.is_ours)
		return gmt_original_dlclose(handle);

	uint64_t before = gmt_modules_unload_count();
	if (gmt_session_is_on())
		gmt_modules_scan_before_unload();

	gmt_rules_pause();

	int result = gmt_original_dlclose(handle);
	/* Most handles are not the last one to their object. */
	bool was_unloaded = gmt_modules_unload_count() != before;

	if (was_unloaded) {
		gmt_modules_unloaded();
		gmt_original_forget_callers();
	}
	gmt_rules_resume(was_unloaded);
	return result;
}

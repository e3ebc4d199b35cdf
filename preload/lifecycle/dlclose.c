/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/rule_cache.h"
#include "unwind/object_map.h"
#include "producer/session_state.h"
#include "interpose/originals.h"
#include "producer/thread_state.h"

/*
 * The recorder replaces dlclose, because other objects may later use the addresses of an unloaded
 * object. Before the call, the recorder adds all loaded objects to the object map. After an unload,
 * stacks belong to a new generation of the map, and the cache of calling objects is empty. The
 * recorder does not replace dlopen: a replacement would change whose RUNPATH applies.
 */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
	if (gmt_this_thread.is_recorder_thread)
		return gmt_original_dlclose(handle);

	uint64_t before = gmt_object_map_unload_count();
	if (gmt_session_is_on())
		gmt_object_map_scan_before_unload();

	gmt_rule_cache_pause();

	int result = gmt_original_dlclose(handle);
	/* Most calls of dlclose do not unload the object, because other handles still refer to it. */
	bool was_unloaded = gmt_object_map_unload_count() != before;

	if (was_unloaded) {
		gmt_object_map_on_unload();
		gmt_original_forget_callers();
	}
	gmt_rule_cache_resume(was_unloaded);
	return result;
}

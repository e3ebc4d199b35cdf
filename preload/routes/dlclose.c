/* SPDX-License-Identifier: MIT */
#include "routes/dlclose.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "record/modules.h"
#include "record/session.h"
#include "routes/real.h"
#include "thread.h"

int gmt_real_dlclose(void *handle)
{
	static int (*_Atomic real)(void *);
	int (*next)(void *) = atomic_load_explicit(&real, memory_order_relaxed);

	if (!next) {
		*(void **)&next = gmt_real_dlsym(RTLD_NEXT, "dlclose");
		atomic_store_explicit(&real, next, memory_order_relaxed);
	}
	return next ? next(handle) : -1;
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
	if (gmt_this_thread.is_ours || !gmt_session_is_on())
		return gmt_real_dlclose(handle);

	uint64_t before = gmt_modules_unload_count();
	gmt_modules_scan();

	int result = gmt_real_dlclose(handle);
	/* Most handles are not the last one to their object. */
	if (gmt_modules_unload_count() != before) {
		gmt_modules_next_generation();
		gmt_real_forget_callers();
	}
	return result;
}

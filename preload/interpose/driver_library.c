/* SPDX-License-Identifier: MIT */
#include "interpose/driver_library.h"

#include <dlfcn.h>

#include "hooks/hooks.h"
#include "interpose/dlerror.h"
#include "interpose/dlmopen_namespaces.h"
#include "interpose/loaded_objects.h"
#include "interpose/originals.h"
#include "runtime/stages.h"

_Atomic int gmt_driver_state; /* enum gmt_driver_state */

/* Written once, before gmt_driver_state becomes GMT_DRIVER_KNOWN. */
static struct {
	void *library;
	void *exported[GMT_HOOK_COUNT]; /* the driver's exported address of each hooked function */
} driver;

void *gmt_driver_library(void)
{
	return driver.library;
}

void gmt_driver_library_open(const void *function)
{
	struct gmt_object object;
	int expected = GMT_DRIVER_NOT_SEEN;

	if (gmt_driver_is_known())
		return;

	bool is_in_namespace = gmt_namespaces_contain(function);

	if (!is_in_namespace &&
		(!gmt_object_find(function, &object) || object.is_program ||
			!gmt_path_name_begins_with(object.path, "libcuda.so")))
		return;
	if (!atomic_compare_exchange_strong(&gmt_driver_state, &expected, GMT_DRIVER_BEING_OPENED))
		return;

	bool is_held = gmt_dlerror_hold();

	/* Never closed, so that the functions stay loaded when the program closes its own handle. */
	void *handle = is_in_namespace ? gmt_namespaces_pin(function)
								   : dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);

	gmt_dlerror_release(is_held);
	if (!handle) {
		atomic_store(&gmt_driver_state, GMT_DRIVER_NOT_SEEN);
		return;
	}
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		if (gmt_hooks[hook].library != GMT_LIBRARY_CUDA)
			continue;
		driver.exported[hook] = gmt_original_dlsym(handle, gmt_hooks[hook].symbol);
		if (driver.exported[hook] && !gmt_original_stored(hook))
			gmt_original_store(hook, driver.exported[hook]);
	}
	driver.library = handle;
	GMT_RUN_STAGE(driver_found);
	/* Pairs with the acquire in gmt_driver_is_known. */
	atomic_store_explicit(&gmt_driver_state, GMT_DRIVER_KNOWN, memory_order_release);
}

unsigned gmt_driver_hook_at(const void *function)
{
	for (unsigned hook = GMT_HOOK_NONE + 1; gmt_driver_is_known() && hook < GMT_HOOK_COUNT; hook++)
		if (driver.exported[hook] == function)
			return hook;
	return GMT_HOOK_NONE;
}

const char *gmt_driver_export_name(const void *function)
{
	Dl_info symbol;

	return dladdr(function, &symbol) && symbol.dli_saddr == function ? symbol.dli_sname : NULL;
}

bool gmt_driver_exports_unhooked(const void *function)
{
	const char *name = gmt_driver_export_name(function);

	return name && gmt_hook_by_symbol(name) == GMT_HOOK_NONE;
}

/*
 * Lets the child of a fork learn the driver: the thread that was learning it does not exist there.
 */
static void after_fork(void)
{
	int opening = GMT_DRIVER_BEING_OPENED;

	atomic_compare_exchange_strong(&gmt_driver_state, &opening, GMT_DRIVER_NOT_SEEN);
}

GMT_AT_STAGE(after_fork, INTERPOSE, after_fork);

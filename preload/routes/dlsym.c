/* SPDX-License-Identifier: MIT */
#include "routes/dlsym.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks.h"
#include "routes/objects.h"
#include "routes/real.h"
#include "routes/symbols.h"

static void *program_handle;

static const struct gmt_dlsym_verdict pass = { NULL, 0 };

void gmt_dlsym_init(void)
{
	program_handle = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
}

static struct gmt_dlsym_verdict answer(void *address)
{
	return (struct gmt_dlsym_verdict){ address, 1 };
}

/* The driver's own libraries look their parts up by the names that we hook (WSL2's libcuda does). */
static bool is_driver_part(const void *caller)
{
	static const char *const names[] = { "libcuda.so", "libcudadebugger.so", "libnvidia-", "libdxcore.so" };
	struct gmt_object object;

	if (!gmt_object_of(caller, &object))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (gmt_path_names(object.path, names[i]))
			return true;
	return false;
}

static struct gmt_dlsym_verdict substitute(enum gmt_hook hook, void *found, const void *caller)
{
	struct gmt_object object;

	if (!gmt_object_of(found, &object))
		return pass;
	switch ((enum gmt_library)gmt_hooks[hook].library) {
	case GMT_LIBRARY_CUDA:
		if (!gmt_path_names(object.path, "libcuda.so") || is_driver_part(caller))
			return pass;
		gmt_real_set(hook, found);
		return answer(gmt_hooks[hook].wrapper);
	case GMT_LIBRARY_CUDART:
		if (!gmt_is_runtime(object.path) || !gmt_real_adopt(hook, found))
			return pass;
		return answer(gmt_hooks[hook].wrapper);
	case GMT_LIBRARY_C10:
		return pass;
	}
	return pass;
}

static bool is_program(const void *caller)
{
	struct gmt_object object;

	return gmt_object_of(caller, &object) && object.is_program;
}

/* RTLD_DEFAULT means the caller's own libraries too, where it was loaded locally. */
static void *find_in_scope_of_caller(const char *name, const void *caller)
{
	struct gmt_object object;

	return gmt_object_of(caller, &object) ? gmt_symbol_in_scope_of(&object, name) : NULL;
}

struct gmt_dlsym_verdict gmt_dlsym_filter(void *handle, const char *name, const void *caller)
{
	if (!gmt_dlsym_next)
		gmt_real_init();
	if (!name)
		return pass;

	enum gmt_hook hook = gmt_hook_by_symbol(name);
	if (hook == GMT_HOOK_NONE)
		return pass;

	/*
	 * In the global scope our own export is the first that a look-up meets, also that of the program for
	 * what comes after itself. Without another one behind it there is no CUDA here, and a program that
	 * probes for it must be told so.
	 */
	if (handle == RTLD_NEXT && !is_program(caller))
		return pass;
	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || (program_handle && handle == program_handle)) {
		void *next = gmt_real_dlsym(RTLD_NEXT, name);

		if (!next && handle == RTLD_DEFAULT)
			next = find_in_scope_of_caller(name, caller);
		return next ? substitute(hook, next, caller) : answer(NULL);
	}

	/* On NULL the real one is asked once more, so that dlerror tells the caller's own story. */
	void *found = gmt_real_dlsym(handle, name);
	return found ? substitute(hook, found, caller) : pass;
}

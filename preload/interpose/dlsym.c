/* SPDX-License-Identifier: MIT */
#include "interpose/dlsym.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/hooks.h"
#include "runtime/load.h"
#include "interpose/dlerror.h"
#include "interpose/dynsym.h"
#include "interpose/patched_originals.h"
#include "interpose/libc_dlsym.h"
#include "interpose/objects.h"
#include "interpose/originals.h"
#include "interpose/elf_symbols.h"
#include "interpose/unhooked.h"
#include "runtime/config.h"

static void *program_handle;

void gmt_dlsym_init(void)
{
	program_handle = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
}

static struct gmt_dlsym_decision final_answer(void *address)
{
	return (struct gmt_dlsym_decision){ address, 1 };
}

static struct gmt_dlsym_decision ask_next(void *next)
{
	return (struct gmt_dlsym_decision){ next, 0 };
}

/*
 * Returns whether the caller is one of the driver's own libraries. They look up their parts by
 * hooked names (libcuda on WSL2 does).
 */
static bool is_driver_part(const void *caller)
{
	static const char *const names[] = { "libcuda.so", "libcudadebugger.so", "libnvidia-",
		"libdxcore.so" };
	struct gmt_object object;

	if (!gmt_object_of(caller, &object))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (gmt_path_name_begins_with(object.path, names[i]))
			return true;
	return false;
}

static void *libc_dlsym_for(int is_versioned)
{
	return is_versioned ? (void *)gmt_libc.dlvsym : (void *)gmt_libc.dlsym;
}

/*
 * Returns the next dlsym for a caller. If another preload after us replaces dlsym too, it gets the
 * program's look-ups, as it would without us. The preload's own look-ups go to the C library: the
 * "next" dlsym that it calls may be ours again (interpose/dynsym.h).
 */
static void *next_dlsym_for(const void *caller, int is_versioned)
{
	void *after_recorder = is_versioned ? (void *)gmt_libc.dlvsym_after_recorder
										: (void *)gmt_libc.dlsym_after_recorder;
	void *libc = libc_dlsym_for(is_versioned);
	struct gmt_object object;

	if (!after_recorder)
		return libc;
	if (!gmt_object_of(caller, &object) || gmt_elf_symbol_is_defined_by(&object, "dlsym") ||
		gmt_elf_symbol_is_defined_by(&object, "dlvsym"))
		return libc;
	return after_recorder;
}

/* Looks the name up with `next`. */
static void *look_up(void *next, void *handle, const struct gmt_dlsym_request *request,
	int is_versioned)
{
	void *found = NULL;

	if (is_versioned && next)
		found = ((gmt_dlvsym_function *)next)(handle, request->name, request->version);
	else if (next)
		found = ((gmt_dlsym_function *)next)(handle, request->name);
	return found;
}

/*
 * Returns the function to hand out for `found`, the caller's original function of `hook`. Returns
 * NULL if the next dlsym is to answer.
 */
static void *wrapper_for(enum gmt_hook hook, void *found, const void *caller)
{
	struct gmt_object object;

	if (!gmt_object_of(found, &object))
		return NULL;
	switch ((enum gmt_library)gmt_hooks[hook].library) {
	case GMT_LIBRARY_CUDA:
		if (!gmt_path_name_begins_with(object.path, "libcuda.so"))
			return NULL;
		if (!gmt_config.records || is_driver_part(caller))
			return found; /* the driver's table may already have our wrapper */
		gmt_original_set(hook, found);
		return gmt_hooks[hook].wrapper;
	case GMT_LIBRARY_CUDART:
		return gmt_config.records && gmt_is_runtime(object.path) && gmt_original_adopt(hook, found)
			? gmt_hooks[hook].wrapper
			: NULL;
	case GMT_LIBRARY_C10:
		return NULL;
	}
	return NULL;
}

/* Returns whether a look-up in the global scope finds our export first. */
static bool finds_our_export(enum gmt_hook hook, void *handle, const void *caller)
{
	struct gmt_object object;

	if (handle == RTLD_DEFAULT || (program_handle && handle == program_handle))
		return !gmt_original_is_defined_before(hook, 0);
	/* For the program and for preloads before ours, RTLD_NEXT finds our export. */
	return handle == RTLD_NEXT && gmt_object_of(caller, &object) &&
		object.order < gmt_object_self()->order &&
		!gmt_original_is_defined_before(hook, object.order + 1);
}

static bool is_in_global_scope(void *handle)
{
	return handle == RTLD_DEFAULT || handle == RTLD_NEXT ||
		(program_handle && handle == program_handle);
}

/*
 * Handles a name that has no row in hooks.def but looks like an allocation call. A second look-up
 * shows which library has it.
 */
static void note_unhooked(void *next, const struct gmt_dlsym_request *request, const void *caller,
	int is_versioned)
{
	void *handle = is_in_global_scope(request->handle) ? RTLD_NEXT : request->handle;
	void *found = look_up(next, handle, request, is_versioned);
	struct gmt_object object;

	if (found && gmt_object_of(found, &object) &&
		(gmt_path_name_begins_with(object.path, "libcuda.so") || gmt_is_runtime(object.path)) &&
		!is_driver_part(caller))
		gmt_unhooked_add(request->name, GMT_ROUTE_DLSYM);
}

/*
 * Finds `name` in the caller's own libraries, or returns NULL. RTLD_DEFAULT searches them too if
 * the caller was loaded locally.
 */
static void *find_in_scope_of_caller(const char *name, const void *caller)
{
	struct gmt_object object;

	return gmt_object_of(caller, &object) ? gmt_elf_symbol_in_scope_of(&object, name) : NULL;
}

/*
 * Asks the next dlsym for a name that does not exist, so that dlerror has the right text for the
 * caller (dlerror.c).
 */
static struct gmt_dlsym_decision ask_for_absent_name(struct gmt_dlsym_request *request, void *next)
{
	const char *marked = gmt_dlerror_mark_absent(request->name);

	if (!marked)
		return final_answer(NULL);
	request->name = marked;
	return ask_next(next);
}

struct gmt_dlsym_decision gmt_dlsym_filter(struct gmt_dlsym_request *request, const void *caller,
	int is_versioned)
{
	gmt_libc_init();
	/* Another preload's dlsym may call this one again with the marked name. */
	gmt_dlerror_forget_absent(request->name);

	void *next = next_dlsym_for(caller, is_versioned);
	enum gmt_hook hook = request->name ? gmt_hook_by_symbol(request->name) : GMT_HOOK_NONE;

	if (hook == GMT_HOOK_NONE) {
		if (request->name && gmt_unhooked_is_candidate(request->name))
			note_unhooked(next, request, caller, is_versioned);
		return ask_next(next);
	}
	/*
	 * Only for hooked names: other preloads look names up before the process is ready for anything.
	 */
	gmt_load();
	if (gmt_hooks[hook].library == GMT_LIBRARY_CUDA)
		gmt_dynsym_patch_driver();

	/*
	 * In the global scope, a look-up finds our own export first, even the program's look-up with
	 * RTLD_NEXT. If no other library exports the name, there is no CUDA here. A program that tests
	 * for CUDA must then get NULL.
	 */
	void *handle = request->handle, *found;

	if (is_in_global_scope(handle)) {
		if (!finds_our_export(hook, handle, caller))
			return ask_next(next);
		found = gmt_patched_originals_undo(look_up(libc_dlsym_for(is_versioned), RTLD_NEXT, request,
											   is_versioned),
			request->name);
		if (!found && handle == RTLD_DEFAULT && !is_versioned)
			found = find_in_scope_of_caller(request->name, caller);
		/*
		 * dlvsym ignores our exports, because they have no version. But an empty version makes
		 * glibc 2.36 crash.
		 */
		if (!found)
			return is_versioned && request->version && request->version[0]
				? ask_next(next)
				: ask_for_absent_name(request, next);
		/*
		 * Another preload's function. The user put that preload before all callers that search the
		 * global scope. It calls our wrapper by itself.
		 */
		if (found == gmt_original_interposer(hook))
			return final_answer(found);
	} else {
		/*
		 * If the result is NULL, the next dlsym is asked again, so that it sets the error for
		 * dlerror.
		 */
		found = look_up(next, handle, request, is_versioned);
		/*
		 * The other preload asked for its own function, and was bound to ours, which comes first.
		 */
		if (found == gmt_hooks[hook].wrapper && next != libc_dlsym_for(is_versioned) &&
			gmt_original_interposer(hook))
			return final_answer(gmt_original_interposer(hook));
		/* If the driver's table has our wrapper, the caller means the driver's function. */
		found = gmt_patched_originals_undo(found, request->name);
	}

	void *wrapper = found ? wrapper_for(hook, found, caller) : NULL;
	return wrapper ? final_answer(wrapper) : ask_next(next);
}

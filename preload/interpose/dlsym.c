/* SPDX-License-Identifier: MIT */
#include "interpose/dlsym.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/hooks.h"
#include "runtime/initialize.h"
#include "interpose/dlerror.h"
#include "interpose/patch_dynsym.h"
#include "interpose/patched_originals.h"
#include "interpose/libc_dlsym.h"
#include "interpose/loaded_objects.h"
#include "interpose/originals.h"
#include "interpose/elf_symbols.h"
#include "interpose/unhooked.h"
#include "runtime/config.h"

static void *program_handle;

void gmt_dlsym_init(void)
{
	program_handle = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
}

/* Ends the look-up with this result. */
static struct gmt_dlsym_decision answer(void *address)
{
	return (struct gmt_dlsym_decision){ address, 1 };
}

/* Passes the look-up on to the next dlsym. */
static struct gmt_dlsym_decision pass_on(void *next)
{
	return (struct gmt_dlsym_decision){ next, 0 };
}

/*
 * Returns whether the caller is one of the driver's own libraries. They look up each other's
 * functions by hooked names (libcuda on WSL2 does).
 */
static bool is_driver_part(const void *caller)
{
	static const char *const names[] = { "libcuda.so", "libcudadebugger.so", "libnvidia-",
		"libdxcore.so" };
	struct gmt_object object;

	if (!gmt_object_find(caller, &object))
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
 * Returns the next dlsym for a caller. If a preload after the recorder replaces dlsym too, it gets
 * the program's look-ups, as without the recorder. That preload's own look-ups go to the C library:
 * the "next" dlsym that it calls may be the recorder's again (interpose/patch_dynsym.h).
 */
static void *next_dlsym_for(const void *caller, int is_versioned)
{
	void *after_recorder = is_versioned ? (void *)gmt_libc.dlvsym_after_recorder
										: (void *)gmt_libc.dlsym_after_recorder;
	void *libc = libc_dlsym_for(is_versioned);
	struct gmt_object object;

	if (!after_recorder)
		return libc;
	if (!gmt_object_find(caller, &object) || gmt_elf_symbol_is_defined_by(&object, "dlsym") ||
		gmt_elf_symbol_is_defined_by(&object, "dlvsym"))
		return libc;
	return after_recorder;
}

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
 * Returns the function that the caller gets in place of `found`, its original function of `hook`:
 * usually the wrapper. Returns NULL if the next dlsym must answer.
 */
static void *replacement_of(enum gmt_hook hook, void *found, const void *caller)
{
	struct gmt_object object;

	if (!gmt_object_find(found, &object))
		return NULL;
	switch ((enum gmt_library)gmt_hooks[hook].library) {
	case GMT_LIBRARY_CUDA:
		if (!gmt_path_name_begins_with(object.path, "libcuda.so"))
			return NULL;
		if (!gmt_config.records_process || is_driver_part(caller))
			return found; /* the driver's table may already have the wrapper */
		gmt_original_store(hook, found);
		return gmt_hooks[hook].wrapper;
	case GMT_LIBRARY_CUDART:
		return gmt_config.records_process && gmt_path_is_runtime(object.path) &&
				gmt_original_store_runtime(hook, found)
			? gmt_hooks[hook].wrapper
			: NULL;
	case GMT_LIBRARY_C10:
		return NULL;
	}
	return NULL;
}

/* Returns whether a look-up in the global scope finds the recorder's export first. */
static bool finds_recorder_export(enum gmt_hook hook, void *handle, const void *caller)
{
	struct gmt_object object;

	if (handle == RTLD_DEFAULT || (program_handle && handle == program_handle))
		return !gmt_original_is_defined_before(hook, 0);
	/*
	 * For the program and for preloads before the recorder, RTLD_NEXT finds the recorder's export.
	 */
	return handle == RTLD_NEXT && gmt_object_find(caller, &object) &&
		object.order < gmt_object_self()->order &&
		!gmt_original_is_defined_before(hook, object.order + 1);
}

static bool is_in_global_scope(void *handle)
{
	return handle == RTLD_DEFAULT || handle == RTLD_NEXT ||
		(program_handle && handle == program_handle);
}

/*
 * Notes a name without a hook that looks like an allocation call. The function looks the name up to
 * see whether CUDA defines it.
 */
static void note_unhooked(void *next, const struct gmt_dlsym_request *request, const void *caller,
	int is_versioned)
{
	void *handle = is_in_global_scope(request->handle) ? RTLD_NEXT : request->handle;
	void *found = look_up(next, handle, request, is_versioned);
	struct gmt_object object;

	if (found && gmt_object_find(found, &object) &&
		(gmt_path_name_begins_with(object.path, "libcuda.so") ||
			gmt_path_is_runtime(object.path)) &&
		!is_driver_part(caller))
		gmt_unhooked_add(request->name, GMT_LOOKUP_ROUTE_DLSYM);
}

/*
 * Finds `name` in the caller's own scope, or returns NULL. RTLD_DEFAULT searches this scope too if
 * the caller was loaded locally.
 */
static void *find_in_scope_of_caller(const char *name, const void *caller)
{
	struct gmt_object object;

	return gmt_object_find(caller, &object) ? gmt_elf_symbol_in_scope_of(&object, name) : NULL;
}

/*
 * Passes on a name that does not exist, so that the caller gets the right text from dlerror
 * (dlerror.c).
 */
static struct gmt_dlsym_decision pass_on_absent_name(struct gmt_dlsym_request *request, void *next)
{
	const char *marked = gmt_dlerror_mark_absent(request->name);

	if (!marked)
		return answer(NULL);
	request->name = marked;
	return pass_on(next);
}

/* A look-up of a hooked name. */
struct hooked_look_up {
	struct gmt_dlsym_request *request;
	const void *caller;
	int is_versioned;
	void *next; /* the next dlsym or dlvsym */
	enum gmt_hook hook;
};

/* Decides a look-up whose original function is `found`, or NULL. */
static struct gmt_dlsym_decision decide(const struct hooked_look_up *wanted, void *found)
{
	void *replacement = found ? replacement_of(wanted->hook, found, wanted->caller) : NULL;

	return replacement ? answer(replacement) : pass_on(wanted->next);
}

/*
 * Decides a look-up in the global scope. It finds the recorder's export first, even the program's
 * look-up with RTLD_NEXT. If no other library exports the name, the process has no CUDA, and the
 * program must get NULL.
 */
static struct gmt_dlsym_decision decide_in_global_scope(const struct hooked_look_up *wanted)
{
	struct gmt_dlsym_request *request = wanted->request;
	bool is_versioned = wanted->is_versioned;
	void *found;

	if (!finds_recorder_export(wanted->hook, request->handle, wanted->caller))
		return pass_on(wanted->next);
	found = look_up(libc_dlsym_for(is_versioned), RTLD_NEXT, request, is_versioned);
	found = gmt_patched_originals_undo(found, request->name);
	if (!found && request->handle == RTLD_DEFAULT && !is_versioned)
		found = find_in_scope_of_caller(request->name, wanted->caller);
	/*
	 * The next dlvsym ignores the recorder's exports, because they have no version. But glibc 2.36
	 * crashes if the requested version is empty.
	 */
	if (!found)
		return is_versioned && request->version && request->version[0]
			? pass_on(wanted->next)
			: pass_on_absent_name(request, wanted->next);
	/* Another preload's function: the user wants it first, and it calls the wrapper itself. */
	if (found == gmt_original_in_other_preload(wanted->hook))
		return answer(found);
	return decide(wanted, found);
}

/*
 * Decides a look-up in the libraries of a handle. If the name does not exist, the next dlsym looks
 * it up again, and sets the error.
 */
static struct gmt_dlsym_decision decide_by_handle(const struct hooked_look_up *wanted)
{
	void *found =
		look_up(wanted->next, wanted->request->handle, wanted->request, wanted->is_versioned);
	void *other_preload = gmt_original_in_other_preload(wanted->hook);

	/* The other preload looked up its own function, and found the recorder's, which comes first. */
	if (found == gmt_hooks[wanted->hook].wrapper &&
		wanted->next != libc_dlsym_for(wanted->is_versioned) && other_preload)
		return answer(other_preload);
	/* If the driver's table has the wrapper, the caller means the driver's function. */
	return decide(wanted, gmt_patched_originals_undo(found, wanted->request->name));
}

struct gmt_dlsym_decision gmt_dlsym_filter(struct gmt_dlsym_request *request, const void *caller,
	int is_versioned)
{
	gmt_libc_init();
	/* Another preload's dlsym may call this one again with the marked name. */
	gmt_dlerror_forget_absent(request->name);

	struct hooked_look_up wanted = {
		.request = request,
		.caller = caller,
		.is_versioned = is_versioned,
		.next = next_dlsym_for(caller, is_versioned),
		.hook = request->name ? gmt_hook_by_symbol(request->name) : GMT_HOOK_NONE,
	};

	if (wanted.hook == GMT_HOOK_NONE) {
		if (request->name && gmt_unhooked_is_candidate(request->name))
			note_unhooked(wanted.next, request, caller, is_versioned);
		return pass_on(wanted.next);
	}
	/* Only for hooked names: other preloads look names up before the recorder may load. */
	gmt_initialize();
	if (gmt_hooks[wanted.hook].library == GMT_LIBRARY_CUDA)
		gmt_dynsym_patch_driver();
	return is_in_global_scope(request->handle) ? decide_in_global_scope(&wanted)
											   : decide_by_handle(&wanted);
}

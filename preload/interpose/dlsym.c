/* SPDX-License-Identifier: MIT */
#include "interpose/dlsym.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hooks/hooks.h"
#include "lifecycle/load.h"
#include "interpose/dynsym.h"
#include "interpose/libc.h"
#include "interpose/objects.h"
#include "interpose/originals.h"
#include "interpose/symbols.h"
#include "interpose/unhooked.h"

static void *program_handle;

/* Long enough for every hooked name; a thread's own, for as long as one call of the next dlsym. */
enum { ABSENT_BYTES = 128 };
static __thread char absent_name[ABSENT_BYTES] __attribute__((tls_model("initial-exec")));

void gmt_dlsym_init(void)
{
	program_handle = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
}

const char *gmt_dlsym_absent_name(void)
{
	return absent_name;
}

static struct gmt_dlsym_verdict answer(void *address)
{
	return (struct gmt_dlsym_verdict){ address, 1 };
}

static struct gmt_dlsym_verdict pass_to(void *next)
{
	return (struct gmt_dlsym_verdict){ next, 0 };
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

static void *libc_for(int is_versioned)
{
	return is_versioned ? (void *)gmt_libc.dlvsym : (void *)gmt_libc.dlsym;
}

/*
 * Who has taken dlsym over too, and comes after us, gets the program's look-ups as it would without us.
 * Its own go to the C library, where its "next" dlsym may be ours again (interpose/dynsym.h).
 */
static void *next_for(const void *caller, int is_versioned)
{
	void *behind = is_versioned ? (void *)gmt_libc.dlvsym_behind : (void *)gmt_libc.dlsym_behind;
	void *libc = libc_for(is_versioned);
	struct gmt_object object;

	if (!behind)
		return libc;
	if (!gmt_object_of(caller, &object) || gmt_symbol_is_defined_by(&object, "dlsym") ||
		gmt_symbol_is_defined_by(&object, "dlvsym"))
		return libc;
	return behind;
}

/* What `next` finds. */
static void *ask(void *next, void *handle, const struct gmt_dlsym_request *request, int is_versioned)
{
	void *found = NULL;

	if (is_versioned && next)
		found = ((gmt_dlvsym_function *)next)(handle, request->name, request->version);
	else if (next)
		found = ((gmt_dlsym_function *)next)(handle, request->name);
	return found;
}

/* `found` is the function of `hook` that the caller would have got; NULL: leave it to the next. */
static void *wrapper_for(enum gmt_hook hook, void *found, const void *caller)
{
	struct gmt_object object;

	if (!gmt_object_of(found, &object))
		return NULL;
	switch ((enum gmt_library)gmt_hooks[hook].library) {
	case GMT_LIBRARY_CUDA:
		if (!gmt_path_names(object.path, "libcuda.so"))
			return NULL;
		if (is_driver_part(caller))
			return found; /* which its table may not say any more */
		gmt_original_set(hook, found);
		return gmt_hooks[hook].wrapper;
	case GMT_LIBRARY_CUDART:
		return gmt_is_runtime(object.path) && gmt_original_adopt(hook, found) ? gmt_hooks[hook].wrapper : NULL;
	case GMT_LIBRARY_C10:
		return NULL;
	}
	return NULL;
}

/* Whether a look-up in the global scope comes to us before it comes to anybody else. */
static bool meets_us(enum gmt_hook hook, void *handle, const void *caller)
{
	struct gmt_object object;

	if (handle == RTLD_DEFAULT || (program_handle && handle == program_handle))
		return !gmt_original_is_ahead(hook, 0);
	/* What comes next is us for the program, and for the preloads before ours. */
	return handle == RTLD_NEXT && gmt_object_of(caller, &object) && object.order < gmt_object_self()->order &&
		!gmt_original_is_ahead(hook, object.order + 1);
}

static bool is_in_global_scope(void *handle)
{
	return handle == RTLD_DEFAULT || handle == RTLD_NEXT || (program_handle && handle == program_handle);
}

/* A name without a row that looks like an allocation call: worth a second look-up, which tells whose it is. */
static void see_unhooked(void *next, const struct gmt_dlsym_request *request, const void *caller, int is_versioned)
{
	void *handle = is_in_global_scope(request->handle) ? RTLD_NEXT : request->handle;
	void *found = ask(next, handle, request, is_versioned);
	struct gmt_object object;

	if (found && gmt_object_of(found, &object) &&
		(gmt_path_names(object.path, "libcuda.so") || gmt_is_runtime(object.path)) && !is_driver_part(caller))
		gmt_unhooked_add(request->name, GMT_ROAD_DLSYM);
}

/* RTLD_DEFAULT means the caller's own libraries too, where it was loaded locally. */
static void *find_in_scope_of_caller(const char *name, const void *caller)
{
	struct gmt_object object;

	return gmt_object_of(caller, &object) ? gmt_symbol_in_scope_of(&object, name) : NULL;
}

/* The next one is asked for a name that nobody has, so that dlerror tells the caller's own story (dlerror.c). */
static struct gmt_dlsym_verdict absent(struct gmt_dlsym_request *request, void *next)
{
	size_t length = strlen(request->name);

	if (length + 2 > ABSENT_BYTES)
		return answer(NULL);
	memcpy(absent_name, request->name, length);
	absent_name[length] = GMT_ABSENT_MARK;
	absent_name[length + 1] = 0;
	request->name = absent_name;
	return pass_to(next);
}

struct gmt_dlsym_verdict gmt_dlsym_filter(struct gmt_dlsym_request *request, const void *caller, int is_versioned)
{
	gmt_libc_init();
	/* It comes back here where another preload's dlsym goes on to the next. */
	if (request->name != absent_name)
		absent_name[0] = 0;

	void *next = next_for(caller, is_versioned);
	enum gmt_hook hook = request->name ? gmt_hook_by_symbol(request->name) : GMT_HOOK_NONE;

	if (hook == GMT_HOOK_NONE) {
		if (request->name && gmt_unhooked_would_be(request->name))
			see_unhooked(next, request, caller, is_versioned);
		return pass_to(next);
	}
	/* Only for such names: other preloads look names up before anything of the process is ready. */
	gmt_load();
	if (gmt_hooks[hook].library == GMT_LIBRARY_CUDA)
		gmt_dynsym_take_driver();

	/*
	 * In the global scope our own export is the first that a look-up meets, also that of the program for
	 * what comes after itself. Without another one behind it there is no CUDA here, and a program that
	 * probes for it must be told so.
	 */
	void *handle = request->handle, *found;

	if (is_in_global_scope(handle)) {
		if (!meets_us(hook, handle, caller))
			return pass_to(next);
		found = gmt_dynsym_undo(ask(libc_for(is_versioned), RTLD_NEXT, request, is_versioned), request->name);
		if (!found && handle == RTLD_DEFAULT && !is_versioned)
			found = find_in_scope_of_caller(request->name, caller);
		/* dlvsym by itself passes our exports over: they have no version. But it falls over an empty one. */
		if (!found)
			return is_versioned && request->version && request->version[0] ? pass_to(next) : absent(request, next);
		/* An interposer's: it was put before all who look there, and reaches us by itself. */
		if (found == gmt_original_interposer(hook))
			return answer(found);
	} else {
		/* On NULL the next one is asked once more, so that dlerror has that. */
		found = ask(next, handle, request, is_versioned);
		/* It means its own, and was bound to ours, which comes first. */
		if (found == gmt_hooks[hook].wrapper && next != libc_for(is_versioned) && gmt_original_interposer(hook))
			return answer(gmt_original_interposer(hook));
		/* The driver's table has our wrapper: it means the driver's. */
		found = gmt_dynsym_undo(found, request->name);
	}

	void *wrapper = found ? wrapper_for(hook, found, caller) : NULL;
	return wrapper ? answer(wrapper) : pass_to(next);
}

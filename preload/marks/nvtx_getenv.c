/* SPDX-License-Identifier: MIT */
/*
 * Programs call getenv before any constructor, in the resolvers of indirect functions, in signal
 * handlers, and between fork and exec. Therefore, for names other than NVTX_INJECTION64_PATH, the
 * code up to the call of the next getenv calls no other library and reads no data that needs
 * relocation or initialization. It costs a load and a comparison.
 */
#include "marks/nvtx_getenv.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "runtime/config.h"
#include "runtime/text_before_relocation.h"
#include "interpose/originals.h"

/* Weak: the loader keeps its address in a table that is zero until this library is relocated. */
extern char **environ __attribute__((weak));

typedef char *getenv_function(const char *);

enum decision { UNDECIDED, REPLACE, PASS_ON };

static const char variable[] = "NVTX_INJECTION64_PATH";
static struct {
	getenv_function *_Atomic next_getenv; /* NULL before the constructor */
	_Atomic int decision;
} replacement;

/* Does the work of libc's getenv until libc's own function is known. */
GMT_EARLY static char *look_up(const char *name)
{
	if (!&environ || !environ || !name[0])
		return NULL;
	for (char **entry = environ; *entry; entry++) {
		size_t length = gmt_early_skip(*entry, name);

		if (length && (*entry)[length] == '=')
			return *entry + length + 1;
	}
	return NULL;
}

bool gmt_nvtx_getenv_is_replaced(void)
{
	int decided = atomic_load_explicit(&replacement.decision, memory_order_relaxed);

	if (decided != UNDECIDED)
		return decided == REPLACE;
	if (getauxval(AT_SECURE))
		return false;

	const char *options = look_up("GPUMEMTRACE_OPTIONS");

	/* The call comes before the constructor, so the options are not read yet. */
	return !options || !gmt_early_has_item(options, "nvtx=off", "nvtx=on");
}

/*
 * Returns the name by which the loader knows this library. The loader finds the library again by
 * that name, even if the working directory has changed. The loader's list is read without its lock:
 * preloaded libraries are at the front, which no longer changes.
 */
static char *own_path(void)
{
	for (struct link_map *object = _r_debug.r_map; object; object = object->l_next)
		if (object->l_ld == _DYNAMIC)
			return object->l_name;
	return NULL;
}

static char *replaced_value(void)
{
	int kept_errno = errno;
	char *path = gmt_nvtx_getenv_is_replaced() ? own_path() : NULL;

	errno = kept_errno;
	return path;
}

GMT_EARLY static char *call_next(const char *name)
{
	getenv_function *next = atomic_load_explicit(&replacement.next_getenv, memory_order_relaxed);

	return next ? next(name) : look_up(name);
}

char *getenv(const char *name) __attribute__((visibility("default")));

GMT_EARLY char *getenv(const char *name)
{
	if (gmt_early_skip(name, variable) && !name[sizeof(variable) - 1]) {
		char *path = replaced_value();

		if (path)
			return path;
	}
	return call_next(name);
}

void gmt_nvtx_getenv_init(bool may_replace)
{
	/*
	 * "Next" means after this library, so that another library that replaces getenv is still
	 * called.
	 */
	getenv_function *next = (getenv_function *)gmt_original_dlsym(RTLD_NEXT, "getenv");

	atomic_store_explicit(&replacement.next_getenv, next, memory_order_relaxed);
	atomic_store_explicit(&replacement.decision, may_replace && gmt_config.nvtx ? REPLACE : PASS_ON,
		memory_order_relaxed);
}

const char *gmt_nvtx_getenv_tool(void)
{
	const char *path = call_next(variable);

	return path && path[0] ? path : NULL;
}

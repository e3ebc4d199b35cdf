/* SPDX-License-Identifier: MIT */
#include "lifecycle/setuid.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "writer/session.h"
#include "interpose/originals.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
	int (*setuid)(uid_t);
	int (*setreuid)(uid_t, uid_t);
	int (*setresuid)(uid_t, uid_t, uid_t);
} originals;

void gmt_setuid_init(void)
{
	*(void **)&originals.setuid = gmt_original_dlsym(RTLD_NEXT, "setuid");
	*(void **)&originals.setreuid = gmt_original_dlsym(RTLD_NEXT, "setreuid");
	*(void **)&originals.setresuid = gmt_original_dlsym(RTLD_NEXT, "setresuid");
}

/*
 * Prepares the recorder for a change of the effective user to `user`, if the process cannot become
 * root again. `original` points to the pointer to the original function. Returns false with ENOSYS
 * if there is no original function.
 */
static bool prepare_user_change(void *original, uid_t user)
{
	int kept_errno = errno;

	if (user != 0 && user != (uid_t)-1)
		gmt_session_before_user_change();
	if (!*(void **)original)
		gmt_setuid_init();
	errno = *(void **)original ? kept_errno : ENOSYS;
	return *(void **)original != NULL;
}

EXPORT int setuid(uid_t user)
{
	return prepare_user_change(&originals.setuid, user) ? originals.setuid(user) : -1;
}

EXPORT int setreuid(uid_t user, uid_t effective)
{
	return prepare_user_change(&originals.setreuid, effective) ? originals.setreuid(user, effective)
															   : -1;
}

EXPORT int setresuid(uid_t user, uid_t effective, uid_t saved)
{
	/* If the saved user is root, the process can become root again, and so can the writer. */
	return prepare_user_change(&originals.setresuid, saved ? effective : 0)
		? originals.setresuid(user, effective, saved)
		: -1;
}

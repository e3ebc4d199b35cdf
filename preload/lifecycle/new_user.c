/* SPDX-License-Identifier: MIT */
#include "lifecycle/new_user.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "writer/session.h"
#include "interpose/originals.h"

#define EXPORT __attribute__((visibility("default")))

static int (*real_setuid)(uid_t);
static int (*real_setreuid)(uid_t, uid_t);
static int (*real_setresuid)(uid_t, uid_t, uid_t);

void gmt_new_user_init(void)
{
	*(void **)&real_setuid = gmt_original_dlsym(RTLD_NEXT, "setuid");
	*(void **)&real_setreuid = gmt_original_dlsym(RTLD_NEXT, "setreuid");
	*(void **)&real_setresuid = gmt_original_dlsym(RTLD_NEXT, "setresuid");
}

/*
 * Prepares for a change of the effective user to `user`. A process that is no longer root cannot
 * become root again. `real` points to the original function. Returns true if that function can be
 * called.
 */
static bool prepare(void *real, uid_t user)
{
	int kept_errno = errno;

	if (user != 0 && user != (uid_t)-1)
		gmt_session_before_new_user();
	if (!*(void **)real)
		gmt_new_user_init();
	errno = *(void **)real ? kept_errno : ENOSYS;
	return *(void **)real != NULL;
}

EXPORT int setuid(uid_t user)
{
	return prepare(&real_setuid, user) ? real_setuid(user) : -1;
}

EXPORT int setreuid(uid_t user, uid_t effective)
{
	return prepare(&real_setreuid, effective) ? real_setreuid(user, effective) : -1;
}

EXPORT int setresuid(uid_t user, uid_t effective, uid_t saved)
{
	/* If the saved user is root, the process can become root again, and so can the writer. */
	return prepare(&real_setresuid, saved ? effective : 0) ? real_setresuid(user, effective, saved)
														   : -1;
}

/* SPDX-License-Identifier: MIT */
#include "tools/output/output_temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 8, TRIES = 1000 };

/*
 * Files that the signal handler removes. Only the process `owner` removes them, because a forked
 * process has the same list.
 */
static const char *volatile files[FILES_MOST];
static volatile sig_atomic_t owner;

/* Signals that end the process by default. An existing handler, such as a sanitizer's, is kept. */
static const int deadly[] = {
	SIGHUP,
	SIGINT,
	SIGQUIT,
	SIGTERM,
	SIGUSR1,
	SIGUSR2,
	SIGALRM,
	SIGXCPU,
	SIGSEGV,
	SIGBUS,
	SIGABRT,
	SIGFPE,
	SIGILL,
};
enum { DEADLY = sizeof(deadly) / sizeof(*deadly) };

static void remove_all(void)
{
	if (owner != (sig_atomic_t)getpid())
		return;
	for (size_t i = 0; i < FILES_MOST; i++)
		if (files[i])
			unlink(files[i]);
}

/*
 * Removes the files. The process still ends by the signal, so that its parent sees which signal it
 * was.
 */
static void on_signal(int number)
{
	remove_all();
	signal(number, SIG_DFL);
	raise(number);
}

static void prepare(void)
{
	static bool is_prepared;
	struct sigaction action = { .sa_handler = on_signal }, before;

	owner = (sig_atomic_t)getpid();
	if (is_prepared)
		return;
	is_prepared = true;
	atexit(remove_all);
	/*
	 * Without the signal, exceeding the file size limit is an ordinary write error, which is
	 * reported.
	 */
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < DEADLY; i++)
		if (!sigaction(deadly[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
}

/* Blocks signals, so that no signal comes between creating the file and adding it to the list. */
static void hold_signals(sigset_t *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, ret_before);
}

static bool note(const char *path)
{
	for (size_t i = 0; i < FILES_MOST; i++)
		if (!files[i]) {
			files[i] = path;
			return true;
		}
	errno = EMFILE;
	return false;
}

static void forget(const char *path)
{
	for (size_t i = 0; i < FILES_MOST; i++)
		if (files[i] == path)
			files[i] = NULL;
}

/* Makes a name next to the target. Cuts the name if it would be longer than file systems allow. */
static char *name_beside(const char *target, unsigned number)
{
	enum { BEHIND = 48 };
	const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
	size_t length = strlen(name), most = NAME_MAX - BEHIND;
	char behind[BEHIND], *path;

	snprintf(behind, sizeof(behind), number ? ".unfinished-%ld-%u" : ".unfinished-%ld",
		(long)getpid(), number);
	if (asprintf(&path, "%.*s%.*s%s", (int)(name - target), target,
			(int)(length < most ? length : most), name, behind) >= 0)
		return path;
	errno = ENOMEM;
	return NULL;
}

bool gmt_output_temporary_create(const char *target, mode_t mode,
	struct gmt_output_temporary *ret_temporary)
{
	sigset_t before;
	int fd = -1;

	*ret_temporary = (struct gmt_output_temporary){ .fd = -1 };
	prepare();
	for (unsigned number = 0; number < TRIES && fd < 0; number++) {
		char *path = name_beside(target, number);

		if (!path)
			return false;
		hold_signals(&before);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd >= 0 && note(path)) {
			ret_temporary->path = path;
			ret_temporary->fd = fd;
		} else if (fd >= 0) {
			unlink(path);
			close(fd);
			fd = -1;
			errno = EMFILE;
		}

		int why = errno;
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (fd < 0)
			free(path);
		errno = why;
		if (fd < 0 && why != EEXIST)
			return false;
	}
	return fd >= 0;
}

void gmt_output_temporary_remove(struct gmt_output_temporary *temporary)
{
	if (temporary->fd >= 0)
		close(temporary->fd);
	if (temporary->path) {
		unlink(temporary->path);
		forget(temporary->path);
		free(temporary->path);
	}
	*temporary = (struct gmt_output_temporary){ .fd = -1 };
}

bool gmt_output_temporary_rename(struct gmt_output_temporary *temporary, const char *target)
{
	sigset_t before;
	bool done;
	int why;

	hold_signals(&before);
	done = !rename(temporary->path, target);
	why = errno;
	if (done)
		forget(temporary->path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = why;
	if (!done)
		return false;
	free(temporary->path);
	temporary->path = NULL;
	/* fsync already reported write errors. */
	close(temporary->fd);
	temporary->fd = -1;
	return true;
}

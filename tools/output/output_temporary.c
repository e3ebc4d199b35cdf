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

enum { MAX_FILES = 8, MAX_TRIES = 1000 };

/*
 * Files that the signal handler removes. Only the process `owner` removes them, because a forked
 * process has the same list.
 */
static const char *volatile files[MAX_FILES];
static volatile sig_atomic_t owner;

/* Signals that end the process by default. An existing handler, such as a sanitizer's, is kept. */
static const int fatal_signals[] = {
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
enum { FATAL_SIGNALS = sizeof(fatal_signals) / sizeof(*fatal_signals) };

static void remove_all(void)
{
	if (owner != (sig_atomic_t)getpid())
		return;
	for (size_t i = 0; i < MAX_FILES; i++)
		if (files[i])
			unlink(files[i]);
}

/*
 * Removes the files. Then the signal ends the process, so that its parent sees which signal ended
 * it.
 */
static void on_signal(int number)
{
	remove_all();
	signal(number, SIG_DFL);
	raise(number);
}

static void install_handlers(void)
{
	static bool is_installed;
	struct sigaction action = { .sa_handler = on_signal }, before;

	owner = (sig_atomic_t)getpid();
	if (is_installed)
		return;
	is_installed = true;
	atexit(remove_all);
	/*
	 * Without the signal, exceeding the file size limit is an ordinary write error, which is
	 * reported.
	 */
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < FATAL_SIGNALS; i++)
		if (!sigaction(fatal_signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(fatal_signals[i], &action, NULL);
}

/* Blocks signals, so that no signal comes between creating the file and adding it to the list. */
static void block_signals(sigset_t *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, ret_before);
}

static bool add_to_list(const char *path)
{
	for (size_t i = 0; i < MAX_FILES; i++)
		if (!files[i]) {
			files[i] = path;
			return true;
		}
	errno = EMFILE;
	return false;
}

static void remove_from_list(const char *path)
{
	for (size_t i = 0; i < MAX_FILES; i++)
		if (files[i] == path)
			files[i] = NULL;
}

/* Makes a name next to the target. Cuts the name if it would be longer than file systems allow. */
static char *temporary_name(const char *target, unsigned number)
{
	enum { SUFFIX_BYTES = 48 };
	const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
	size_t length = strlen(name), max_length = NAME_MAX - SUFFIX_BYTES;
	char suffix[SUFFIX_BYTES], *path;

	snprintf(suffix, sizeof(suffix), number ? ".unfinished-%ld-%u" : ".unfinished-%ld",
		(long)getpid(), number);
	if (asprintf(&path, "%.*s%.*s%s", (int)(name - target), target,
			(int)(length < max_length ? length : max_length), name, suffix) >= 0)
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
	install_handlers();
	for (unsigned number = 0; number < MAX_TRIES && fd < 0; number++) {
		char *path = temporary_name(target, number);

		if (!path)
			return false;
		block_signals(&before);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd >= 0 && add_to_list(path)) {
			ret_temporary->path = path;
			ret_temporary->fd = fd;
		} else if (fd >= 0) {
			unlink(path);
			close(fd);
			fd = -1;
			errno = EMFILE;
		}

		int error_number = errno;
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (fd < 0)
			free(path);
		errno = error_number;
		if (fd < 0 && error_number != EEXIST)
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
		remove_from_list(temporary->path);
		free(temporary->path);
	}
	*temporary = (struct gmt_output_temporary){ .fd = -1 };
}

bool gmt_output_temporary_rename(struct gmt_output_temporary *temporary, const char *target)
{
	sigset_t before;
	bool done;
	int error_number;

	block_signals(&before);
	done = !rename(temporary->path, target);
	error_number = errno;
	if (done)
		remove_from_list(temporary->path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error_number;
	if (!done)
		return false;
	free(temporary->path);
	temporary->path = NULL;
	/* fsync already reported write errors. */
	close(temporary->fd);
	temporary->fd = -1;
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * A preloaded library that does one forbidden thing to each process. It takes the recorder's place
 * between the witnesses. GMT_MEDDLE selects the thing. It proves that the comparison notices.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static void *stay(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static void meddle(const char *how)
{
	pthread_t thread;

	if (!strcmp(how, "errno"))
		errno = ENOENT;
	if (!strcmp(how, "descriptor") && open("/dev/null", O_RDONLY) < 0)
		abort();
	if (!strcmp(how, "signal"))
		signal(SIGPIPE, SIG_IGN);
	if (!strcmp(how, "mask")) {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGCHLD);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	if (!strcmp(how, "timer"))
		setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_sec = 1000 } }, NULL);
	if (!strcmp(how, "stack")) {
		static char buffer[1 << 16];

		sigaltstack(&(stack_t){ .ss_sp = buffer, .ss_size = sizeof(buffer) }, NULL);
	}
	if (!strcmp(how, "environment"))
		setenv("MEDDLED", "1", 1);
	if (!strcmp(how, "umask"))
		umask(0111);
	if (!strcmp(how, "locale"))
		setlocale(LC_ALL, "");
	if (!strcmp(how, "thread"))
		pthread_create(&thread, NULL, stay, NULL);
	if (!strcmp(how, "limit"))
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 4096, 4096 });
	if (!strcmp(how, "prctl"))
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!strcmp(how, "folder") && chdir("/"))
		abort();
	if (!strcmp(how, "shared") &&
		mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		abort();
	if (!strcmp(how, "file") && open("left", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) != -1)
		close(3);
	if (!strcmp(how, "word") && write(2, "word\n", 5) != 5)
		abort();
}

__attribute__((constructor)) static void begins(void)
{
	const char *how = getenv("GMT_MEDDLE");

	if (how && strncmp(how, "end ", 4))
		meddle(how);
}

__attribute__((destructor)) static void ends(void)
{
	const char *how = getenv("GMT_MEDDLE");

	if (how && !strncmp(how, "end ", 4))
		meddle(how + 4);
}

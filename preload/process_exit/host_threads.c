/* SPDX-License-Identifier: MIT */
#include "process_exit/host_threads.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/descriptor.h"
#include "files/folder.h"
#include "producer/thread_state.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum {
	/* Maximum number of watched threads; the codes of further threads are not known. */
	WATCHED = 32,
	/* Links of /proc/self/task besides those of the threads. */
	LINKS = 2,
	EXIT_SHIFT = 8,             /* position of the exit code in a wait() status */
	PIDFD_THREAD = O_EXCL,
	PIDFD_INFO_EXIT = 1 << 3,
};

/* The kernel's structure, since Linux 6.15. */
struct pidfd_info {
	uint64_t mask, cgroup;
	uint32_t numbers[11];
	int32_t exit_code;
};

#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)

/* The host's threads except its main thread. They are watched after the main thread has ended. */
static struct {
	uint32_t tid;
	int fd;
} watched[WATCHED];

static struct {
	unsigned watched_count;
	int tasks; /* /proc/self/task */
	int main_code, last_code;
	bool has_last_code;
} last = { .tasks = -1 };

void gmt_host_threads_init(void)
{
	last.tasks = gmt_descriptor_has_own_table()
		? open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		: -1;
	last.watched_count = 0;
	last.main_code = 0;
	last.has_last_code = false;
}

void gmt_host_threads_forget(void)
{
	last.tasks = -1;
	last.watched_count = 0;
}

/*
 * Returns whether the main thread has ended. The kernel keeps it as a zombie then, with its exit
 * code.
 */
static bool main_has_ended(int folder)
{
	char name[32], text[1024];
	const char *at;
	ssize_t length;
	int fd;

	snprintf(name, sizeof(name), "%d/stat", (int)getpid());
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = 0;
	at = strrchr(text, ')'); /* behind the name */
	if (!at || strncmp(at, ") Z", 3) != 0)
		return false;
	at = strrchr(text, ' ');
	last.main_code = at ? (int)strtol(at, NULL, 10) >> EXIT_SHIFT & 0xff : 0;
	return true;
}

static bool watch(void *unused, int folder, const char *name)
{
	uint64_t tid;

	(void)unused;
	(void)folder;
	if (!gmt_text_parse_u64(name, &tid) || tid == (uint64_t)getpid() || tid == gmt_thread_tid())
		return true;
	for (unsigned i = 0; i < last.watched_count; i++)
		if (watched[i].tid == tid)
			return true;
	watched[last.watched_count].tid = (uint32_t)tid;
	watched[last.watched_count].fd = (int)syscall(SYS_pidfd_open, (pid_t)tid, PIDFD_THREAD);
	last.watched_count += watched[last.watched_count].fd >= 0;
	return last.watched_count < WATCHED;
}

/* Stops watching threads that have ended. Keeps the exit code of the last of them. */
static void read_exit_codes(void)
{
	for (unsigned i = 0; i < last.watched_count;) {
		struct pidfd_info info = { .mask = PIDFD_INFO_EXIT };

		if (ioctl(watched[i].fd, PIDFD_GET_INFO, &info) == 0 && !(info.mask & PIDFD_INFO_EXIT)) {
			i++;
			continue;
		}
		if (info.mask & PIDFD_INFO_EXIT) {
			last.last_code = info.exit_code >> EXIT_SHIFT & 0xff;
			last.has_last_code = true;
		}
		close(watched[i].fd);
		watched[i] = watched[--last.watched_count];
	}
}

enum gmt_host_threads_end gmt_host_threads_have_ended(unsigned recorder_threads)
{
	struct stat tasks_folder;
	bool is_kept = last.tasks >= 0, is_alone = false;
	int folder = last.tasks;

	/*
	 * In the host's descriptor table, the function opens nothing if stat alone shows that more
	 * threads are left.
	 */
	if (!is_kept && !stat("/proc/self/task", &tasks_folder) &&
		tasks_folder.st_nlink > LINKS + recorder_threads + 1)
		return GMT_HOST_THREADS_RUN;
	if (!is_kept)
		folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return GMT_HOST_THREADS_UNKNOWN;
	/* In addition to the recorder's threads, the main thread is still listed, as a zombie. */
	if (!fstat(folder, &tasks_folder) && main_has_ended(folder)) {
		is_alone = tasks_folder.st_nlink <= LINKS + recorder_threads + 1;
		/*
		 * Watches threads only if their codes can be read at the end, which needs a separate
		 * descriptor table.
		 */
		if (is_kept && last.watched_count < WATCHED && lseek(folder, 0, SEEK_SET) == 0)
			gmt_folder_visit(folder, watch, NULL);
		read_exit_codes();
	}
	if (!is_kept)
		close(folder);
	return is_alone ? GMT_HOST_THREADS_ENDED : GMT_HOST_THREADS_RUN;
}

bool gmt_host_threads_is_single(void)
{
	struct stat tasks_folder;

	return stat("/proc/self/task", &tasks_folder) || tasks_folder.st_nlink <= LINKS + 1;
}

int gmt_host_threads_exit_code(void)
{
	read_exit_codes();
	return last.has_last_code ? last.last_code : last.main_code;
}

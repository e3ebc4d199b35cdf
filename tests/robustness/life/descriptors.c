/* SPDX-License-Identifier: MIT */
/*
 * descriptors MODE: prints how a recorded program sees its own descriptors. MODE is:
 *
 * - lowest ROUNDS: closes number 0 and opens a file, which must get 0, again and again. Prints how
 *   often it did not.
 * - watch SECONDS: checks all the time whether the lowest free number is in use. Prints how often
 *   it was.
 * - limit: opens as many files as RLIMIT_NOFILE allows, before and after the first event. Prints
 *   the number each time.
 * - pipe: closes one end of a pipe while it is recorded. Prints "end" when the other end sees that.
 * - forked: prints the descriptors of a forked child besides the standard streams.
 * - refused: same as "forked", if the kernel refuses the recorder its own descriptor table.
 *   refused-limit: the same for "limit".
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 4096, SOME = 20, LIMIT = 8, LAST = 1023, THREADS = 8, CLOSE_RANGE = 436 };

static void allocate(void)
{
	void *block;

	if (cudaMalloc(&block, SIZE) || cudaFree(block))
		_exit(9);
}

static void *allocate_meanwhile(void *unused)
{
	allocate();
	return unused;
}

/* Starts threads. Each new thread gets memory from the recorder, for which its file must grow. */
static void start_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, allocate_meanwhile, NULL))
			_exit(8);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static int lowest(long rounds)
{
	long wrong = 0;

	for (long i = 0; i < rounds; i++) {
		if (i % SOME == 0)
			allocate();
		if (i % (rounds / SOME + 1) == 0)
			start_threads();
		close(STDIN_FILENO);

		int fd = open("/dev/null", O_RDONLY);

		wrong += fd != STDIN_FILENO;
		if (fd != STDIN_FILENO) {
			dup2(fd, STDIN_FILENO);
			close(fd);
		}
	}
	printf("%ld\n", wrong);
	return 0;
}

static _Atomic bool watches = true, has_begun;

/* Watches the lowest free number. The program itself opens nothing meanwhile. */
static void *watch_lowest(void *ret_seen)
{
	int lowest = dup(STDIN_FILENO);

	close(lowest);
	while (atomic_load(&watches)) {
		*(long *)ret_seen += fcntl(lowest, F_GETFD) >= 0;
		atomic_store(&has_begun, true);
	}
	return NULL;
}

static int watch(long seconds)
{
	pthread_t watcher;
	long seen = 0;

	if (pthread_create(&watcher, NULL, watch_lowest, &seen))
		return 7;
	while (!atomic_load(&has_begun))
		usleep(1000);
	for (time_t end = time(NULL) + seconds; time(NULL) <= end;) {
		for (int i = 0; i < SOME; i++)
			allocate();
		start_threads();
		usleep(1000);
	}
	atomic_store(&watches, false);
	pthread_join(watcher, NULL);
	printf("%ld\n", seen);
	return 0;
}

/* Returns how many files can be opened. Closes them all. */
static int fill(void)
{
	int numbers[LIMIT], count = 0;

	while (count < LIMIT && (numbers[count] = dup(STDIN_FILENO)) >= 0)
		count++;
	for (int i = 0; i < count; i++)
		close(numbers[i]);
	return count;
}

static int limit(void)
{
	struct rlimit few = { LIMIT, LIMIT };
	int before, after;

	if (setrlimit(RLIMIT_NOFILE, &few))
		return 7;
	before = fill();
	allocate();
	after = fill();
	printf("%d %d\n", before, after);
	return 0;
}

static int see_end_of_pipe(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		return 7;
	allocate();
	close(ends[1]);
	puts(read(ends[0], &byte, 1) == 0 ? "end" : "more");
	return 0;
}

static int look_in_child(void)
{
	char path[64], target[4352];

	allocate();
	if (fork())
		return wait(NULL) < 0;
	for (int number = STDERR_FILENO + 1; number <= LAST; number++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", number);

		ssize_t length = readlink(path, target, sizeof(target) - 1);

		target[length > 0 ? length : 0] = 0;
		if (length > 0)
			puts(target);
	}
	return 0;
}

static bool refuse_own_table(void)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOSE_RANGE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(lines) / sizeof(*lines), lines };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int count, char **words)
{
	const char *mode = count > 1 ? words[1] : "";

	/* This call links the program to the driver, so nothing opens the driver later. */
	if (cuInit(0))
		return 9;

	if (strcmp(mode, "lowest") == 0 && count > 2)
		return lowest(strtol(words[2], NULL, 10));
	if (strcmp(mode, "watch") == 0 && count > 2)
		return watch(strtol(words[2], NULL, 10));
	if (strcmp(mode, "limit") == 0)
		return limit();
	if (strcmp(mode, "pipe") == 0)
		return see_end_of_pipe();
	if (strcmp(mode, "forked") == 0)
		return look_in_child();
	if (strcmp(mode, "refused") == 0)
		return refuse_own_table() ? look_in_child() : 6;
	if (strcmp(mode, "refused-limit") == 0)
		return refuse_own_table() ? limit() : 6;
	return 5;
}

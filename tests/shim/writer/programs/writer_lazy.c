/* SPDX-License-Identifier: MIT */
/*
 * writer-lazy MODE [ARGUMENT] [WAY]: a program with one thread. Each line of its output is the
 * number of its threads.
 *
 *	pairs COUNT WAY  allocates 1024 bytes and frees them, COUNT times; ends by WAY: return, exit,
 *	                 quick_exit, _exit, handler, thread, raw, kill
 *	storm FORKS      allocates host and device memory while a timer's handler forks FORKS times
 *	inside           forks in a signal handler that interrupts malloc; the child continues there
 *	child            a child uses CUDA before its parent; another later (the device refuses it)
 *	thread           a second thread allocates 2048 bytes
 *	signal           sends itself SIGUSR1, sets a mark and allocates 2048 bytes
 *	exec PROGRAM     tries to run a program that does not exist, and then PROGRAM
 *	folder           changes to the folder / after the first event
 *	library PATH     allocates 1000 bytes in a library, and closes the library
 *	refused          asks for more memory than the device has
 *	descriptors HAS  opens as many files as it may; with HAS = 0 it cannot start threads either
 *	full COUNT WAY   the same as pairs, while the process cannot start threads
 *	stacks COUNT     allocates COUNT times, each time with another deep stack
 *	pauses COUNT     pauses and resumes the recording, COUNT times
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpumemtrace.h"

enum {
	SIZE = 1024,
	OTHER_SIZE = 2048,
	LEVELS = 55, /* two frames each, below the recorder's limit */
	PAUSES = 20, /* the recorder keeps up to 64 changes in memory until it writes them */
	STORM_US = 200,
	STORM_PAIRS = 3000, /* few enough for half a ring */
	PAGE_BYTES = 4096,
	FILLING_BYTES = 64 << 10,
	BLOCK_BYTES = 5000, /* malloc takes it from its top, because no block of this size was freed */
};

static CUcontext context;

static void begin(void)
{
	CUdevice device;

	if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device))
		_exit(8);
}

static void allocate_and_free(size_t size_bytes)
{
	CUdeviceptr block;

	if (cuMemAlloc(&block, size_bytes) || cuMemFree(block))
		_exit(9);
}

static int allocate(void **block, size_t size_bytes)
{
	return cuMemAlloc((CUdeviceptr *)block, size_bytes);
}

/* Prints the number of threads. Their folder in /proc has two links more than threads. */
static void print_threads(void)
{
	struct stat status;

	if (stat("/proc/self/task", &status))
		_exit(7);
	printf("%d\n", (int)status.st_nlink - 2);
	fflush(stdout);
}

static void end_in_handler(int number)
{
	(void)number;
	_exit(0);
}

static int end_by(const char *way)
{
	if (strcmp(way, "exit") == 0)
		exit(0);
	if (strcmp(way, "quick_exit") == 0)
		quick_exit(0);
	if (strcmp(way, "_exit") == 0)
		_exit(0);
	if (strcmp(way, "handler") == 0 &&
		(signal(SIGUSR1, end_in_handler) == SIG_ERR || raise(SIGUSR1)))
		return 1;
	if (strcmp(way, "thread") == 0)
		pthread_exit(NULL);
	if (strcmp(way, "raw") == 0)
		syscall(SYS_exit_group, 0);
	if (strcmp(way, "kill") == 0)
		kill(getpid(), SIGKILL);
	return 0;
}

static int pairs(int count, const char *way)
{
	for (int i = 0; i < count; i++)
		allocate_and_free(SIZE);
	print_threads();
	return end_by(way);
}

static volatile sig_atomic_t forks, forks_wanted;

/* Starts a timer that fires once. A periodic timer would leave the program no time to run. */
static int set_timer(void)
{
	const struct itimerval soon = { .it_value = { 0, STORM_US } };

	return setitimer(ITIMER_REAL, &soon, NULL);
}

static void fork_and_wait(int number)
{
	int status;
	pid_t child = fork();

	(void)number;
	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		_exit(6);
	if (++forks < forks_wanted && set_timer())
		_exit(6);
}

static int storm(int wanted)
{
	struct sigaction action = { .sa_handler = fork_and_wait, .sa_flags = SA_RESTART };
	void *volatile block;
	int done = 0;

	forks_wanted = wanted;
	if (sigaction(SIGALRM, &action, NULL) || set_timer())
		return 1;
	while (forks < wanted) {
		for (size_t size = 1; size < BLOCK_BYTES; size += size / 2 + 1) {
			block = malloc(size);
			free(block);
		}
		if (done < STORM_PAIRS) {
			allocate_and_free(SIZE);
			done++;
		}
	}
	print_threads();
	printf("%d\n", done);
	return 0;
}

static char *top, *top_end;
static pid_t made_inside = -1;

static void on_fault(int number)
{
	(void)number;
	if (mprotect(top, (size_t)(top_end - top), PROT_READ | PROT_WRITE))
		_exit(5);
	made_inside = fork();
}

/*
 * Forks in a handler that interrupts malloc. malloc takes a block from the end of its memory, and
 * this access faults. The handler then runs in the middle of malloc, which may hold its lock.
 */
static int inside(void)
{
	struct sigaction action = { .sa_handler = on_fault };
	char *filling = malloc(FILLING_BYTES);
	void *volatile block;
	int status = 1;

	allocate_and_free(SIZE);
	top_end = sbrk(0);
	top = (char *)(((uintptr_t)filling + FILLING_BYTES / 2) & ~(uintptr_t)(PAGE_BYTES - 1));
	if (!filling || top_end <= top + FILLING_BYTES || sigaction(SIGSEGV, &action, NULL) ||
		mprotect(top, (size_t)(top_end - top), PROT_NONE))
		return 1;
	block = malloc(BLOCK_BYTES);
	free(block);
	if (made_inside == 0)
		_exit(0);
	if (made_inside < 0 || waitpid(made_inside, &status, 0) != made_inside || status)
		return 1;
	allocate_and_free(SIZE);
	print_threads();
	return 0;
}

static void pause_often(int count)
{
	for (int i = 0; i < count; i++) {
		gpumemtrace_pause();
		gpumemtrace_resume();
	}
}

static int run_child(size_t size_bytes)
{
	CUdeviceptr block;
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		CUresult result = cuInit(0);

		if (context)
			pause_often(PAUSES);
		else
			begin();
		result = result ? result : cuMemAlloc(&block, size_bytes);
		print_threads();
		exit(result == CUDA_SUCCESS ? 0 : 3);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static int children(void)
{
	if (run_child(OTHER_SIZE))
		return 1;
	begin();
	allocate_and_free(SIZE);
	if (run_child(OTHER_SIZE) != 3)
		return 1;
	allocate_and_free(SIZE);
	print_threads();
	return 0;
}

static void *in_thread(void *unused)
{
	if (cuCtxSetCurrent(context))
		_exit(4);
	allocate_and_free(OTHER_SIZE);
	return unused;
}

static int second_thread(void)
{
	pthread_t thread;

	allocate_and_free(SIZE);
	print_threads();
	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	/* A SIGKILL cannot remove what is already in this file. */
	print_threads();
	return 0;
}

static int send_signals(void)
{
	allocate_and_free(SIZE);
	raise(SIGUSR1);
	print_threads();
	gpumemtrace_mark("behind");
	allocate_and_free(OTHER_SIZE);
	print_threads();
	return 0;
}

static int run_others(char *program)
{
	char *const arguments[] = { program, NULL };

	allocate_and_free(SIZE);
	print_threads();
	execv("/no-such-program", arguments);
	allocate_and_free(OTHER_SIZE);
	print_threads();
	execv(program, arguments);
	return 1;
}

static int go_elsewhere(void)
{
	allocate_and_free(SIZE);
	if (chdir("/"))
		return 1;
	print_threads();
	return 0;
}

static int in_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*call)(int (*)(void **, size_t), size_t);

	if (!library)
		return 4;
	*(void **)&call = dlsym(library, "library_allocate");
	if (call(allocate, 1000) != 1 || dlclose(library))
		return 5;
	print_threads();
	return 0;
}

static int refused(void)
{
	CUdeviceptr block;

	allocate_and_free(SIZE);
	print_threads();
	if (cuMemAlloc(&block, (size_t)1 << 50) != CUDA_ERROR_OUT_OF_MEMORY)
		return 1;
	print_threads();
	return 0;
}

static int refuses_threads;

/*
 * Replaces pthread_create, also for the recorder, to refuse threads. A limit on the number of
 * processes does not apply to root.
 */
__attribute__((visibility("default"))) int pthread_create(pthread_t *ret_thread,
	const pthread_attr_t *attributes, void *(*work)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (refuses_threads)
		return EAGAIN;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(ret_thread, attributes, work, argument);
}

static int without_descriptors(int has_threads)
{
	refuses_threads = !has_threads;
	allocate_and_free(SIZE);
	print_threads();
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	return 0;
}

static int without_threads(int count, const char *way)
{
	refuses_threads = 1;
	return pairs(count, way);
}

static int descend(unsigned path, int levels);

#define SIDE(name) \
	static __attribute__((noinline)) int name(unsigned path, int levels) \
	{ \
		volatile int result = descend(path >> 1, levels); \
		return result; \
	}
SIDE(left)
SIDE(right)

/* Each bit of `path` chooses the function of a level. */
static __attribute__((noinline)) int descend(unsigned path, int levels)
{
	CUdeviceptr block;
	volatile int result;

	if (!levels)
		return cuMemAlloc(&block, SIZE);
	result = path & 1 ? right(path, levels - 1) : left(path, levels - 1);
	return result;
}

static int many_stacks(int count)
{
	for (int i = 0; i < count; i++)
		if (descend((unsigned)i, LEVELS))
			return 1;
	print_threads();
	return 0;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "";
	int number = count > 2 ? atoi(arguments[2]) : 0;

	if (strcmp(mode, "child") == 0)
		return children();
	begin();
	if (strcmp(mode, "pairs") == 0 && count > 3)
		return pairs(number, arguments[3]);
	if (strcmp(mode, "storm") == 0)
		return storm(number);
	if (strcmp(mode, "inside") == 0)
		return inside();
	if (strcmp(mode, "thread") == 0)
		return second_thread();
	if (strcmp(mode, "signal") == 0)
		return send_signals();
	if (strcmp(mode, "exec") == 0 && count > 2)
		return run_others(arguments[2]);
	if (strcmp(mode, "folder") == 0)
		return go_elsewhere();
	if (strcmp(mode, "library") == 0 && count > 2)
		return in_library(arguments[2]);
	if (strcmp(mode, "refused") == 0)
		return refused();
	if (strcmp(mode, "descriptors") == 0)
		return without_descriptors(number);
	if (strcmp(mode, "full") == 0 && count > 3)
		return without_threads(number, arguments[3]);
	if (strcmp(mode, "stacks") == 0)
		return many_stacks(number);
	if (strcmp(mode, "pauses") == 0) {
		allocate_and_free(SIZE);
		pause_often(number);
		print_threads();
		return 0;
	}
	return 2;
}

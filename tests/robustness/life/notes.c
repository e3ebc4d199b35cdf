/* SPDX-License-Identifier: MIT */
/*
 * Forks while another thread is in the middle of a note of the recorder. This thread does not exist
 * in the child. The child causes another note, because it asks for another program. Prints the
 * child's exit code.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpumemtrace.h"

enum { HEAPS = 1030, LONG_MS = 60000 };

static _Atomic bool is_held = true, is_inside;

/* Also receives the recorder's calls, because the program comes before the C library. */
__attribute__((visibility("default"))) int snprintf(char *text, size_t bytes, const char *format,
	...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(text, bytes, format, arguments);
	va_end(arguments);
	if (atomic_load(&is_held) && strstr(text, "more heaps at the same time")) {
		atomic_store(&is_inside, true);
		while (atomic_load(&is_held))
			usleep(1000);
	}
	return length;
}

static void *begin_too_many_heaps(void *unused)
{
	for (int i = 0; i < HEAPS; i++)
		gpumemtrace_heap("a heap", NULL, 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	void *block;
	int status;

	if (pthread_create(&thread, NULL, begin_too_many_heaps, NULL))
		return 9;
	for (int ms = 0; ms < LONG_MS && !atomic_load(&is_inside); ms++)
		usleep(1000);
	if (!atomic_load(&is_inside))
		return 8;

	pid_t child = fork();

	if (!child) {
		atomic_store(&is_held, false);
		if (cudaMalloc(&block, 1000))
			_exit(7);
		execl("/bin/true", "true", (char *)NULL);
		_exit(6);
	}
	waitpid(child, &status, 0);
	atomic_store(&is_held, false);
	pthread_join(thread, NULL);
	printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}

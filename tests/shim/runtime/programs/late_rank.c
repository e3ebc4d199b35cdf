/* SPDX-License-Identifier: MIT */
/*
 * usage: late-rank [RANK [now|FILE]]
 *
 * Sets RANK, if it is given, after the recorder was loaded, as the processes of Python's
 * multiprocessing do. Then allocates and frees a block, with a function that it looks up. Prints
 * the file name of the library that the function is from, and the number of threads of the process.
 * With `now`, it kills itself with SIGKILL after the allocation. With FILE, its recording, it kills
 * itself as soon as the recorder has written to the file.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void wait_until_written(const char *path)
{
	enum { WAIT_MS = 10, MAX_WAITS = 6000 };
	struct stat status;

	for (int i = 0; i < MAX_WAITS && (stat(path, &status) || !status.st_size); i++)
		usleep(WAIT_MS * 1000);
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
	int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
	int (*set)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
	int (*alloc)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))dlsym(driver, "cuMemAlloc_v2");
	int (*end)(uint64_t) = (int (*)(uint64_t))dlsym(driver, "cuMemFree_v2");
	DIR *tasks;
	Dl_info of_alloc;
	uint64_t address;
	void *context;
	int threads = -2; /* without . and .. */

	if (argc > 1 && setenv("RANK", argv[1], 1))
		return 1;
	if (!alloc || init(0) || retain(&context, 0) || set(context) || alloc(&address, 4096) ||
		end(address) || !dladdr((void *)(uintptr_t)alloc, &of_alloc))
		return 2;
	if (argc > 2 && strcmp(argv[2], "now") == 0)
		return raise(SIGKILL);
	tasks = opendir("/proc/self/task");
	while (tasks && readdir(tasks))
		threads++;
	printf("%s %d\n", strrchr(of_alloc.dli_fname, '/') + 1, threads);
	if (argc < 3)
		return 0;
	wait_until_written(argv[2]);
	return raise(SIGKILL);
}

/* SPDX-License-Identifier: MIT */
/*
 * change-user STEP...: allocates 1111 bytes, takes each step, and allocates 3333 bytes. The process
 * runs as root. "chroot" changes its root to an empty folder; "setuid", "setreuid", "setresuid" and
 * "seteuid" change to another user. Prints its process number.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void allocate(size_t bytes)
{
	void *block;

	if (cudaMalloc(&block, bytes))
		_exit(9);
}

static int run_step(const char *step)
{
	if (strcmp(step, "chroot") == 0)
		return mkdir("empty", 0755) || chroot("empty") || chdir("/");
	if (strcmp(step, "setuid") == 0)
		return setuid(NOBODY);
	if (strcmp(step, "setreuid") == 0)
		return setreuid(NOBODY, NOBODY);
	if (strcmp(step, "setresuid") == 0)
		return setresuid(NOBODY, NOBODY, NOBODY);
	if (strcmp(step, "seteuid") == 0)
		return seteuid(NOBODY);
	return 1;
}

int main(int count, char **words)
{
	allocate(1111);
	for (int i = 1; i < count; i++)
		if (run_step(words[i]))
			return 8;
	allocate(3333);
	printf("%d\n", (int)getpid());
	return 0;
}

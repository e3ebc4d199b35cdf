/* SPDX-License-Identifier: MIT */
/*
 * Forks before and after its own first use of CUDA. The first child uses CUDA. The second child
 * tries to use CUDA after its parent did, so the device refuses it. One child does nothing, and one
 * runs another program.
 *
 * forks inside: forks in the middle of an allocation, from the device's own mmap. The child tries
 * to use CUDA too. Only the thread that allocates forks: the recorder's threads call mmap too.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum child { USES_CUDA, TRIES_CUDA, DOES_NOTHING, RUNS_PROGRAM };

static void be(enum child which)
{
	void *block;

	if (which == USES_CUDA && cudaMalloc(&block, 2222))
		exit(1);
	if (which == TRIES_CUDA && !cudaMalloc(&block, 4444))
		exit(1);
	if (which == RUNS_PROGRAM) {
		execlp("true", "true", NULL);
		exit(1);
	}
	exit(0);
}

static int fork_child(enum child which)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		be(which);
	waitpid(pid, &status, 0);
	return status != 0;
}

static __thread int is_to_fork;
static pid_t made_inside = -1;

/* Exported, so that the device's calls come here. */
__attribute__((visibility("default"))) void *mmap(void *address, size_t length, int protection,
	int flags, int fd, off_t offset)
{
	if (is_to_fork) {
		is_to_fork = 0;
		made_inside = fork();
	}
	return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

static int fork_inside(void)
{
	void *block;
	int status = 0, failed = cudaMalloc(&block, 1111) != cudaSuccess;

	is_to_fork = 1;
	failed += cudaMalloc(&block, 2222) != cudaSuccess;
	if (!made_inside)
		be(TRIES_CUDA);
	failed += made_inside < 0 || waitpid(made_inside, &status, 0) < 0 || status;
	failed += cudaMalloc(&block, 3333) != cudaSuccess;
	printf("%d\n", (int)getpid());
	return failed;
}

int main(int argument_count, char **arguments)
{
	(void)arguments;
	if (argument_count > 1)
		return fork_inside();

	void *block;
	int failed = fork_child(USES_CUDA);

	failed += cudaMalloc(&block, 1111) != cudaSuccess;
	for (enum child which = TRIES_CUDA; which <= RUNS_PROGRAM; which++)
		failed += fork_child(which);
	failed += cudaMalloc(&block, 3333) != cudaSuccess;
	printf("%d\n", (int)getpid());
	return failed;
}

/* SPDX-License-Identifier: MIT */
/*
 * A process that forks before and after its own first use of CUDA. Children: one that uses CUDA, one
 * that tries to although its parent did (the device refuses it), one that does nothing, one that runs
 * another program.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(void)
{
	void *block;
	int failed = fork_child(USES_CUDA);

	failed += cudaMalloc(&block, 1111) != cudaSuccess;
	for (enum child which = TRIES_CUDA; which <= RUNS_PROGRAM; which++)
		failed += fork_child(which);
	failed += cudaMalloc(&block, 3333) != cudaSuccess;
	printf("%d\n", (int)getpid());
	return failed;
}

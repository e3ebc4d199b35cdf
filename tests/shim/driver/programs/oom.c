/* SPDX-License-Identifier: MIT */
/*
 * oom HOW: runs out of memory on the simulated device. Then it continues or ends as HOW says.
 *
 * Checks its own state before and after. Prints the number of wrong results; for `loop`, also the
 * time of one refused request.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK_BYTES = 64 << 20, LOOPS = 10000 };

static int failures;

static void expect(int holds)
{
	failures += !holds;
}

static void exhaust(void)
{
	void *block;
	cudaError_t result;

	while ((result = cudaMalloc(&block, BLOCK_BYTES)) == cudaSuccess)
		;
	expect(result == cudaErrorMemoryAllocation);
}

static void leave_things_alone(void)
{
	CUcontext before, after;
	int device = 7;

	expect(cudaFree(NULL) == cudaSuccess && cuCtxGetCurrent(&before) == CUDA_SUCCESS);
	errno = 77;
	exhaust();
	expect(errno == 77);
	expect(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
	expect(cudaGetLastError() == cudaErrorMemoryAllocation);
	expect(cudaGetLastError() == cudaSuccess);
	expect(cuCtxGetCurrent(&after) == CUDA_SUCCESS && after == before);
	expect(cudaGetDevice(&device) == cudaSuccess && device == 0);
}

/*
 * Runs out of memory during a relaxed capture, which allows allocations. The thread's own mode is
 * thread-local.
 */
static void while_capturing(void)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
	enum cudaStreamCaptureStatus status;
	cudaStream_t stream;
	cudaGraph_t graph = NULL;

	expect(cudaStreamCreate(&stream) == cudaSuccess);
	expect(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
	expect(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
	exhaust();
	expect(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess &&
		mode == cudaStreamCaptureModeThreadLocal);
	expect(cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
		status == cudaStreamCaptureStatusActive);
	expect(cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph);
}

/* The device of a refused stream-ordered request may differ from the current device. */
static void on_another_device(void)
{
	cudaStream_t stream;
	void *block;
	int device = 7;

	expect(cudaSetDevice(1) == cudaSuccess && cudaStreamCreate(&stream) == cudaSuccess);
	expect(cudaSetDevice(0) == cudaSuccess && cudaFree(NULL) == cudaSuccess);
	expect(cudaMallocAsync(&block, (size_t)1 << 40, stream) == cudaErrorMemoryAllocation);
	expect(cudaGetDevice(&device) == cudaSuccess && device == 0);
}

static void ask_for_nothing(void)
{
	CUdeviceptr block;

	expect(cudaFree(NULL) == cudaSuccess);
	expect(cuMemAlloc(&block, 0) == CUDA_ERROR_INVALID_VALUE);
}

static void loop(void)
{
	struct timespec start, end;
	void *block;

	exhaust();
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < LOOPS; i++)
		expect(cudaMalloc(&block, BLOCK_BYTES) == cudaErrorMemoryAllocation);
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "%lld ns\n",
		((end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec - start.tv_nsec) / LOOPS);
}

/* The program itself recovers from a refusal. PyTorch is not involved. */
static void retry(void)
{
	void *first, *block;

	expect(cudaMalloc(&first, BLOCK_BYTES) == cudaSuccess);
	exhaust();
	expect(cudaFree(first) == cudaSuccess);
	expect(cudaMalloc(&block, BLOCK_BYTES) == cudaSuccess);
}

int main(int argument_count, char **arguments)
{
	const char *how = argument_count > 1 ? arguments[1] : "";

	if (strcmp(how, "alone") == 0)
		leave_things_alone();
	else if (strcmp(how, "capture") == 0)
		while_capturing();
	else if (strcmp(how, "device") == 0)
		on_another_device();
	else if (strcmp(how, "nothing") == 0)
		ask_for_nothing();
	else if (strcmp(how, "loop") == 0)
		loop();
	else if (strcmp(how, "retry") == 0)
		retry();
	else
		exhaust();
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	printf("%d\n", failures);
	return failures != 0;
}

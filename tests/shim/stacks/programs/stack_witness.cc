/* SPDX-License-Identifier: MIT */
/*
 * stack_witness: allocates in many shapes of native stack (recursion, frames of other sizes, a
 * second thread, a catch block). For each block it prints the address of the block and the return
 * addresses that glibc's unwinder sees at the same place, leaf first.
 */
#include <cuda_runtime_api.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <stdexcept>
#include <thread>

enum { DEPTH = 128 };

/* backtrace() sees this frame first. The recorder starts at the return address of the caller. */
__attribute__((noinline)) static void allocate(size_t size_bytes)
{
	void *block = nullptr, *frames[DEPTH];

	if (cudaMalloc(&block, size_bytes) != cudaSuccess)
		abort();
	int count = backtrace(frames, DEPTH);
	printf("%llu", (unsigned long long)(uintptr_t)block);
	for (int i = 1; i < count; i++)
		printf(" %llx", (unsigned long long)(uintptr_t)frames[i]);
	printf("\n");
}

template <int Size> __attribute__((noinline)) static void recurse(int depth)
{
	volatile char space[Size];

	space[0] = 0;
	space[Size - 1] = 1;
	if (depth == 0)
		allocate(100 + Size);
	else
		recurse<Size == 48 ? 400 : Size == 400 ? 3000 : 48>(depth - 1);
	space[0] = space[Size - 1];
}

__attribute__((noinline)) static void thrower(int value)
{
	if (value)
		throw std::runtime_error("thrown");
}

int main()
{
	allocate(64);
	for (int depth = 0; depth < 12; depth++)
		recurse<48>(depth);
	try {
		thrower(1);
	} catch (const std::exception &) {
		allocate(777);
	}
	std::thread([] {
		allocate(888);
		recurse<400>(5);
	}).join();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Calls the reporters of PyTorch's allocators by both of their mangled names: those of libc10 1.x
 * (signed totals) and 2.x (size_t). reporters_c10.cc is the library that exports them. Prints how
 * many calls reached that library.
 */
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "reporters.h"

int main()
{
	const c10::Device cuda = { 1, 3 }, cpu = { 0, -1 };
	char *block = reinterpret_cast<char *>(0x7000000000);

	c10::reportMemoryUsageToProfiler(block, 512, size_t(512), size_t(2048), cuda);
	c10::reportMemoryUsageToProfiler(block + 512, 1024, int64_t(1536), int64_t(2048), cuda);
	c10::reportMemoryUsageToProfiler(block, 100, size_t(100), size_t(0), cpu);
	c10::reportMemoryUsageToProfiler(block, -512, size_t(1024), size_t(2048), cuda);
	c10::reportMemoryUsageToProfiler(block + 512, -1024, int64_t(0), int64_t(2048), cuda);
	c10::reportOutOfMemoryToProfiler(int64_t(1) << 40, size_t(0), size_t(2048), cuda);
	c10::reportOutOfMemoryToProfiler(int64_t(1) << 41, int64_t(0), int64_t(2048), cuda);
	c10::reportOutOfMemoryToProfiler(int64_t(1) << 42, size_t(0), size_t(0), cpu);
	std::printf("%d\n", calls_that_came_through());
	return 0;
}

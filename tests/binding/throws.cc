/* SPDX-License-Identifier: MIT */
/*
 * A library that throws, like an extension module. A C program (thrower.c) opens it at run time
 * with RTLD_LOCAL, so libgcc's unwinder is the last library in the process.
 */
#include <ctime>
#include <stdexcept>

namespace
{

volatile int caught;

struct Guard {
	~Guard()
	{
		caught = caught + 1;
	} /* gives each frame something to clean up */
};

__attribute__((noinline)) int descend(int depth)
{
	Guard guard;

	if (depth == 0)
		throw std::runtime_error("as deep as it goes");
	return descend(depth - 1) + 1;
}

double now_ns()
{
	timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

} // namespace

/*
 * Throws and catches `count` exceptions across nine frames. Returns the processor time of one in
 * nanoseconds.
 */
extern "C" __attribute__((visibility("default"))) double throw_many(int count)
{
	double start = now_ns();

	for (int i = 0; i < count; i++) {
		try {
			descend(8);
		} catch (const std::exception &) {
		}
	}
	return (now_ns() - start) / count;
}

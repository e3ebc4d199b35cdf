// SPDX-License-Identifier: MIT
// thread-destructors THREADS: main and each thread hold device memory in a thread_local object.
// A static object holds memory until the program ends.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace
{

struct Held {
	void *block = nullptr;

	explicit Held(size_t size_bytes)
	{
		if (cudaMalloc(&block, size_bytes))
			std::_Exit(9);
	}
	Held(const Held &) = delete;
	Held &operator=(const Held &) = delete;
	~Held()
	{
		if (cudaFree(block))
			std::_Exit(8);
	}
};

thread_local Held of_thread(1111);
Held of_program(2222);

} // namespace

int main(int count, char **arguments)
{
	int threads = count > 1 ? std::atoi(arguments[1]) : 0;

	for (int done = 0; done < threads; done += 20) {
		std::vector<std::thread> some;

		for (int i = 0; i < 20; i++)
			some.emplace_back([] { (void)of_thread.block; });
		for (auto &each : some)
			each.join();
	}
	return of_thread.block == nullptr;
}

/* SPDX-License-Identifier: MIT */
/* Threads share a counter and throw exceptions. Then looks up names. Built with a sanitizer. */
#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex mutex;
static int counted;

static void count()
{
	for (int i = 0; i < 500; i++) {
		try {
			if (i % 100 == 0)
				throw std::runtime_error(std::to_string(i));
		} catch (const std::runtime_error &) {
		}
		std::lock_guard<std::mutex> guard(mutex);
		counted++;
	}
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back(count);
	for (std::thread &thread : threads)
		thread.join();
	std::printf("%d %s\n", counted, dlsym(RTLD_DEFAULT, "cuInit") ? "cuInit" : "no cuInit");
	void *library = dlopen("libm.so.6", RTLD_NOW);
	std::printf("%s\n", library && dlsym(library, "cos") ? "cos" : dlerror());
	return 0;
}

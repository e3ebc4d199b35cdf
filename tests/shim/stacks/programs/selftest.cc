/* SPDX-License-Identifier: MIT */
/*
 * selftest WHAT TIMES [LIBRARY...]: allocates in stacks that change in one way, or at random in all
 * ways. The recorder then compares its cached stacks with the stacks of another unwinder.
 *
 *	calls       recursion, frames of many sizes, also of sizes that are known only at run time
 *	exceptions  thrown over many frames, and calls from catch blocks
 *	jumps       longjmp over many frames
 *	signals     handlers on the program's stack and on a signal stack
 *	routines    makecontext, on stacks that are allocated and freed
 *	libraries   that are loaded at each other's addresses
 *	endless     recursion of ten thousand frames
 *	threads     that start and end, with all of the above except signals in each
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>

extern "C" int selftest(int count, char **arguments);

enum { STACK_BYTES = 65536, THREADS = 4, DEEPEST = 300 };

static const char *const *libraries;
static int library_count;
static thread_local unsigned seed = 1;

static unsigned any(unsigned count)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % count;
}

__attribute__((noinline)) static int allocate(void **block, size_t size_bytes)
{
	return cudaMalloc(block, size_bytes);
}

__attribute__((noinline)) static void once()
{
	void *block;

	if (allocate(&block, 512) || cudaFree(block))
		abort();
}

/* Recurses without tail calls. Each frame has a random size. */
__attribute__((noinline)) static int descend(int depth, void (*last)())
{
	volatile char *space =
		static_cast<volatile char *>(__builtin_alloca(any(4) ? 16 : 16 + any(2000)));

	space[0] = 1;
	if (!any(6))
		once();
	if (depth > 0)
		descend(depth - 1, last);
	else
		last();
	if (!any(6))
		once();
	return space[0];
}

__attribute__((noinline)) static int descend_plainly(int depth, void (*last)())
{
	int below = 0;

	if (depth > 0)
		below = descend_plainly(depth - 1, last);
	else
		last();
	/* Keeps the compiler from making a loop. */
	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

/*
 * Recurses with aligned frames. An unwinder finds the caller's frame by a word that is stored in
 * such a frame.
 */
__attribute__((noinline)) static int descend_aligned(int depth, void (*last)())
{
	alignas(64) volatile char space[64];
	volatile char *more = static_cast<volatile char *>(__builtin_alloca(16 + any(300)));

	more[0] = 1;
	space[0] = 1;
	if (!any(6))
		once();
	if (depth > 0)
		any(2) ? descend_aligned(depth - 1, last) : descend_plainly(depth - 1, last);
	else
		last();
	return space[0] + more[0];
}

static void deep(void (*last)())
{
	if (!any(3))
		descend_aligned(static_cast<int>(any(20)), last);
	else if (any(2))
		descend(static_cast<int>(any(any(20) ? 20 : DEEPEST)), last);
	else
		descend_plainly(static_cast<int>(any(any(20) ? 40 : DEEPEST)), last);
}

static void calls()
{
	deep(once);
}

static void endless()
{
	descend_plainly(10000 + static_cast<int>(any(9)), once);
}

static void exceptions()
{
	try {
		deep([] { throw std::runtime_error("thrown"); });
	} catch (const std::exception &) {
		deep(once);
	}
}

static thread_local jmp_buf back;

static void jumps()
{
	if (!setjmp(back))
		deep([] { longjmp(back, 1); });
	else
		deep(once);
}

static void on_signal(int)
{
	deep(once);
}

static void signals()
{
	static char space[STACK_BYTES * 4];
	stack_t stack = {};
	struct sigaction action = {};

	stack.ss_sp = space;
	stack.ss_size = sizeof(space);
	sigaltstack(&stack, nullptr);
	action.sa_handler = on_signal;
	action.sa_flags = any(2) ? SA_ONSTACK : 0;
	sigaction(SIGUSR1, &action, nullptr);
	deep([] {
		raise(SIGUSR1);
		once();
	});
}

static thread_local ucontext_t caller, routine;

static void run_routine()
{
	once();
	descend_plainly(5, once);
	swapcontext(&routine, &caller);
	once();
}

static void routines()
{
	size_t bytes = STACK_BYTES * (1 + any(3));
	void *space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	getcontext(&routine);
	routine.uc_stack.ss_sp = space;
	routine.uc_stack.ss_size = bytes;
	routine.uc_link = &caller;
	makecontext(&routine, run_routine, 0);
	swapcontext(&caller, &routine);
	deep(once);
	swapcontext(&caller, &routine);
	munmap(space, bytes);
	once();
}

static void open_and_close()
{
	void *library =
		dlopen(libraries[any(static_cast<unsigned>(library_count))], RTLD_NOW | RTLD_LOCAL);
	int (*call)(int (*)(void **, size_t), size_t);

	if (!library)
		abort();
	*reinterpret_cast<void **>(&call) = dlsym(library, "library_allocate");
	call(allocate, 1000);
	dlclose(library);
	once();
}

static void from_libraries()
{
	library_count ? deep(open_and_close) : calls();
}

static void any_but_signals()
{
	void (*const all[])() = { calls, exceptions, jumps, routines, from_libraries };

	all[any(5)]();
}

static void threads()
{
	std::thread running[THREADS];

	for (int i = 0; i < THREADS; i++)
		running[i] = std::thread([i] {
			seed = static_cast<unsigned>(i) * 77 + 5;
			for (int times = 0; times < 20; times++)
				any_but_signals();
		});
	for (auto &thread : running)
		thread.join();
}

/* Runs the program. A Python program also opens this file as a library and calls this function. */
extern "C" int selftest(int count, char **arguments)
{
	const struct {
		const char *name;
		void (*run)();
	} modes[] = {
		{ "calls", calls },
		{ "endless", endless },
		{ "exceptions", exceptions },
		{ "jumps", jumps },
		{ "signals", signals },
		{ "routines", routines },
		{ "libraries", from_libraries },
		{ "threads", threads },
	};

	if (count < 3)
		return 2;
	libraries = arguments + 3;
	library_count = count - 3;
	for (int times = atoi(arguments[2]); times > 0; times--)
		for (const auto &mode : modes)
			if (!strcmp(mode.name, arguments[1]) || (!strcmp(arguments[1], "all") && any(2)))
				mode.run();
	return 0;
}

int main(int count, char **arguments)
{
	return selftest(count, arguments);
}

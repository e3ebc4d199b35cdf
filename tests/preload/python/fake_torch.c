/* SPDX-License-Identifier: MIT */
/* Replaces PyTorch's CUDA allocator, for ctypes. */
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct device {
	int8_t type;
	int8_t index;
};

void report(void *, int64_t, uint64_t, uint64_t,
	struct device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

EXPORT void fake_block(void);
EXPORT void fake_block_and_stay(uint32_t time_us);
EXPORT void fake_block_on_native_thread(void);
EXPORT void fake_blocks_for_ever(void);
EXPORT int threads_with_blocks(void);
EXPORT void fail_if_recorder_waits(void);

void fake_block(void)
{
	struct device cuda = { 1, 0 };

	report(&cuda, 512, 512, 2 << 20, cuda);
	report(&cuda, -512, 0, 2 << 20, cuda);
}

/* Makes a block, then keeps the thread out of Python for a while. */
void fake_block_and_stay(uint32_t time_us)
{
	fake_block();
	usleep(time_us);
}

static void *run(void *unused)
{
	(void)unused;
	fake_block();
	return NULL;
}

/* Makes a block on a native thread, like a thread of PyTorch's autograd. */
void fake_block_on_native_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, run, NULL))
		pthread_join(thread, NULL);
}

static _Atomic int with_blocks;

void fake_blocks_for_ever(void)
{
	fake_block();
	with_blocks++;
	for (;;)
		fake_block();
}

int threads_with_blocks(void)
{
	return with_blocks;
}

static int is_recorder_there(void)
{
	glob_t names;
	int is_there = 0;

	if (glob("/proc/self/task/*/comm", 0, NULL, &names))
		return 0;
	for (size_t i = 0; i < names.gl_pathc; i++) {
		char name[32] = "";
		FILE *file = fopen(names.gl_pathv[i], "r");

		if (file && fgets(name, sizeof(name), file) && !strcmp(name, "gmt-python\n"))
			is_there = 1;
		if (file)
			fclose(file);
	}
	globfree(&names);
	return is_there;
}

/*
 * Waits until no thread of the recorder is left. The caller holds the GIL, so a recorder thread
 * that waits for the GIL stays, and the process then exits with 3.
 */
void fail_if_recorder_waits(void)
{
	for (int i = 0; is_recorder_there(); i++) {
		if (i == 100000)
			_exit(3);
		usleep(1000);
	}
}

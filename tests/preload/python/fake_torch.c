/* SPDX-License-Identifier: MIT */
/* Stands for PyTorch's CUDA allocator, for ctypes. */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct device {
	int8_t type;
	int8_t index;
};

void report(void *, int64_t, uint64_t, uint64_t, struct device)
	__asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

EXPORT void fake_block(void);
EXPORT void fake_block_and_stay(uint32_t time_us);
EXPORT void fake_block_on_native_thread(void);
EXPORT void fake_blocks_for_ever(void);

void fake_block(void)
{
	struct device cuda = { 1, 0 };

	report(&cuda, 512, 512, 2 << 20, cuda);
	report(&cuda, -512, 0, 2 << 20, cuda);
}

/* The thread does not come back to Python for a while. */
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

/* As on a thread of autograd's, which is not Python's. */
void fake_block_on_native_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, run, NULL))
		pthread_join(thread, NULL);
}

void fake_blocks_for_ever(void)
{
	for (;;)
		fake_block();
}

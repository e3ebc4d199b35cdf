/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "observe/nvml.h"
#include "record/clock.h"
#include "routes/driver.h"
#include "routes/real.h"

/* Instead of the loader's: the library takes as long to open as the test wants, and is not there then. */
static sem_t is_opening, may_end;

void *dlopen(const char *name, int flags)
{
	(void)flags;
	assert_string_equal(name, "libnvidia-ml.so.1");
	sem_post(&is_opening);
	sem_wait(&may_end);
	return NULL;
}

void *gmt_real_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info)
{
	(void)ordinal, (void)ret_info;
	return false;
}

/* Time as these waits see it: each look at the clock takes a millisecond, whatever the machine does meanwhile. */
uint64_t gmt_clock_monotonic_ns(void)
{
	static _Atomic uint64_t looks;

	return ++looks * 1000000;
}

static void *open_it(void *unused)
{
	assert_false(gmt_nvml_open());
	return unused;
}

static uint64_t fork_ns(void)
{
	uint64_t start_ns = gmt_clock_monotonic_ns();

	gmt_nvml_hold();
	gmt_nvml_release();
	return gmt_clock_monotonic_ns() - start_ns;
}

static void of_many_forks_while_the_library_does_not_open_one_waits(void **state)
{
	enum { MS = 1000000, FORKS = 20 };
	uint64_t others_ns = 0;
	pthread_t thread;

	(void)state;
	sem_init(&is_opening, 0, 0);
	sem_init(&may_end, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, open_it, NULL), 0);
	sem_wait(&is_opening);
	assert_true(fork_ns() >= 400 * (uint64_t)MS);
	for (int i = 0; i < FORKS; i++)
		others_ns += fork_ns();
	assert_true(others_ns < 400 * (uint64_t)MS);

	/* And what they did not get they did not give back: the one who opens it still has it. */
	sem_post(&may_end);
	pthread_join(thread, NULL);
	assert_true(fork_ns() < 400 * (uint64_t)MS);
	assert_false(gmt_nvml_open());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_many_forks_while_the_library_does_not_open_one_waits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

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

#include "driver/nvml.h"
#include "runtime/bounded_wait.h"
#include "producer/clock.h"
#include "interpose/dlerror.h"
#include "driver/driver_queries.h"
#include "interpose/originals.h"

/* Replaces the loader's dlopen: it waits until the test lets it end, then finds no library. */
static sem_t is_opening, may_end;

void *dlopen(const char *name, int flags)
{
	(void)flags;
	assert_string_equal(name, "libnvidia-ml.so.1");
	sem_post(&is_opening);
	sem_wait(&may_end);
	return NULL;
}

void *gmt_original_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

bool gmt_dlerror_hold(void)
{
	return false;
}

void gmt_dlerror_release(bool is_held)
{
	(void)is_held;
}

bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info)
{
	(void)ordinal, (void)ret_info;
	return false;
}

static void *open_it(void *unused)
{
	assert_false(gmt_nvml_open());
	return unused;
}

static uint64_t fork_ns(void)
{
	uint64_t start_ns = gmt_kernel_now_ns();

	gmt_nvml_hold();
	gmt_nvml_release();
	return gmt_kernel_now_ns() - start_ns;
}

/* Returns the time of the fastest fork. A busy machine may delay some forks. */
static uint64_t fastest_fork_ns(void)
{
	enum { TRIES = 20 };
	uint64_t fastest_ns = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t this_ns = fork_ns();

		fastest_ns = this_ns < fastest_ns ? this_ns : fastest_ns;
	}
	return fastest_ns;
}

static void only_the_first_fork_waits_while_the_library_opens(void **state)
{
	enum { MS = 1000000 };
	pthread_t thread;

	(void)state;
	sem_init(&is_opening, 0, 0);
	sem_init(&may_end, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, open_it, NULL), 0);
	sem_wait(&is_opening);
	assert_true(fork_ns() >= 400 * (uint64_t)MS);
	assert_true(fastest_fork_ns() < 20 * (uint64_t)MS);

	/*
	 * Forks that gave up do not release the lock. The thread that opens the library still holds it.
	 */
	sem_post(&may_end);
	pthread_join(thread, NULL);
	assert_true(fastest_fork_ns() < 20 * (uint64_t)MS);
	assert_false(gmt_nvml_open());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_first_fork_waits_while_the_library_opens),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "runtime/initialize.h"

#include <pthread.h>
#include <stdint.h>

#include "runtime/bounded_wait.h"
#include "runtime/stages.h"

#define WAIT_NS UINT64_C(1000000000)

enum progress { NOT_BEGUN, RUNNING, DONE };

_Atomic bool gmt_is_initialized;

static struct {
	_Atomic uint32_t progress; /* enum progress */
	_Atomic pthread_t thread; /* the thread that does the work */
} initialization;

void gmt_initialize_now(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(WAIT_NS);
	uint32_t not_begun = NOT_BEGUN;

	if (atomic_compare_exchange_strong(&initialization.progress, &not_begun, RUNNING)) {
		atomic_store(&initialization.thread, pthread_self());
		GMT_RUN_STAGE(initialize);
		atomic_store(&initialization.progress, DONE);
		/* Pairs with the acquire in gmt_initialize. */
		atomic_store_explicit(&gmt_is_initialized, true, memory_order_release);
		return;
	}
	while (!atomic_load_explicit(&gmt_is_initialized, memory_order_acquire) &&
		!pthread_equal(atomic_load(&initialization.thread), pthread_self()))
		if (!gmt_bounded_wait_rest(&wait))
			return;
}

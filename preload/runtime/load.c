/* SPDX-License-Identifier: MIT */
#include "runtime/load.h"

#include <pthread.h>
#include <stdint.h>

#include "runtime/bounded_wait.h"
#include "runtime/stages.h"

#define LOAD_WAIT_NS UINT64_C(1000000000)

enum load_stage { NOT_LOADED, LOADING, LOADED };

_Atomic bool gmt_is_loaded;

static struct {
	_Atomic uint32_t stage; /* enum load_stage */
	_Atomic pthread_t thread; /* the thread that does the work */
} loading;

void gmt_load_now(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(LOAD_WAIT_NS);
	uint32_t not_loaded = NOT_LOADED;

	if (atomic_compare_exchange_strong(&loading.stage, &not_loaded, LOADING)) {
		atomic_store(&loading.thread, pthread_self());
		GMT_RUN_STAGE(load);
		atomic_store(&loading.stage, LOADED);
		/* Pairs with the acquire in gmt_load. */
		atomic_store_explicit(&gmt_is_loaded, true, memory_order_release);
		return;
	}
	while (!atomic_load_explicit(&gmt_is_loaded, memory_order_acquire) &&
		!pthread_equal(atomic_load(&loading.thread), pthread_self()))
		if (!gmt_bounded_wait_rest(&wait))
			return;
}

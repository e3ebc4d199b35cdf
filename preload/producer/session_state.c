/* SPDX-License-Identifier: MIT */
#include "producer/session_state.h"

#include <stddef.h>

#include "runtime/config.h"
#include "runtime/hot_data.h"
#include "runtime/fork_detection.h"

GMT_HOT_DATA _Atomic uint32_t gmt_session_state; /* enum gmt_session_state */
GMT_HOT_DATA _Atomic uint32_t gmt_session_number = 1;
struct gmt_session gmt_session;

static bool begin_no_recording(void)
{
	return false;
}

static void do_nothing(void)
{
}

static bool is_never_delayed(void)
{
	return false;
}

static void sync_nothing(uint32_t wait_ms)
{
	(void)wait_ms;
}

/* The values before gmt_session_init: earlier events are not recorded. */
struct gmt_writer_calls gmt_writer_calls = {
	.begin = begin_no_recording,
	.wake = do_nothing,
	.start_if_delayed = do_nothing,
	.is_delayed = is_never_delayed,
	.sync = sync_nothing,
	.snapshot_oom = do_nothing,
};

bool gmt_session_may_begin(void)
{
	return atomic_load_explicit(&gmt_session_state, memory_order_relaxed) != GMT_SESSION_OVER;
}

bool gmt_session_has_begun(void)
{
	return atomic_load_explicit(&gmt_session.has_begun, memory_order_relaxed);
}

bool gmt_session_is_on(void)
{
	gmt_fork_detection_check();
	return gmt_session_state_is_on(atomic_load_explicit(&gmt_session_state, memory_order_acquire));
}

bool gmt_session_is_beginning(void)
{
	return atomic_load_explicit(&gmt_session_state, memory_order_relaxed) == GMT_SESSION_STARTING;
}

bool gmt_session_may_make_threads(void)
{
	return !gmt_config.is_writer_lazy ||
		(gmt_session_has_begun() && !gmt_writer_calls.is_delayed());
}

struct gmt_depot *gmt_session_ensure_depot(void)
{
	/* Pairs with the store in set_state_after_open (writer/session.c): the depot exists. */
	if (__builtin_expect(atomic_load_explicit(&gmt_session_state, memory_order_acquire) ==
				GMT_SESSION_ON,
			1))
		return gmt_session.depot;
	return gmt_writer_calls.begin() ? gmt_session.depot : NULL;
}

void gmt_session_never_begin(void)
{
	uint32_t none = GMT_SESSION_NONE;

	atomic_compare_exchange_strong(&gmt_session_state, &none, GMT_SESSION_OVER);
}

void gmt_session_wake_writer_safely(void)
{
	uint32_t on = GMT_SESSION_ON;

	if (gmt_writer_calls.is_delayed())
		atomic_compare_exchange_strong(&gmt_session_state, &on, GMT_SESSION_WRITER_DUE);
	else
		gmt_writer_calls.wake();
}

/* SPDX-License-Identifier: MIT */
#include "marks/optimizer_steps.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/config.h"
#include "marks/interpreter.h"
#include "marks/install_optimizer_hook.h"
#include "producer/clock.h"
#include "producer/session_state.h"
#include "runtime/log.h"
#include "runtime/hot_data.h"
#include "runtime/stages.h"

/*
 * How long the main thread may take to return to Python. Steps are missed meanwhile, but no thread
 * waits.
 */
enum { MAIN_THREAD_WAIT_NS = 5000000 };

GMT_HOT_DATA _Atomic bool gmt_optimizer_is_settled;

static struct {
	atomic_flag try_lock;
	_Atomic uint64_t blocks;   /* reports seen until the hooks are settled */
	_Atomic uint64_t next_try; /* the value of `blocks` at which to try again */
	_Atomic uint64_t asked_ns; /* when the main thread was asked; 0: it was not asked */
	/* gmt_interpreter is valid; pairs with the acquire in gmt_optimizer_on_early_block */
	_Atomic bool is_found;
} optimizer = { .try_lock = ATOMIC_FLAG_INIT };

static void give_up(const char *why)
{
	char line[200];

	snprintf(line, sizeof(line), "automatic steps are not available: %s", why);
	gmt_log_note(line);
	atomic_store(&gmt_optimizer_is_settled, true);
}

/* Tries again after as many blocks as so far: a later import may bring the missing part. */
static void try_later(void)
{
	atomic_store(&optimizer.next_try, atomic_load(&optimizer.blocks) * 2);
}

/* Needs the GIL. */
static enum gmt_optimizer_hooking try_now(void)
{
	const char *why = "PyTorch's optimizer module has an unknown form";
	enum gmt_optimizer_hooking hooking = gmt_install_optimizer_hook(&why);

	if (hooking == GMT_OPTIMIZER_HOOKED)
		atomic_store(&gmt_optimizer_is_settled, true);
	else if (hooking == GMT_OPTIMIZER_UNKNOWN && !atomic_load(&gmt_optimizer_is_settled))
		give_up(why);
	else if (hooking == GMT_OPTIMIZER_LATER)
		try_later();
	return hooking;
}

static int try_on_main_thread(void *unused)
{
	(void)unused;
	if (atomic_load(&gmt_optimizer_is_settled) || !gmt_interpreter_is_alive())
		return 0;

	enum gmt_optimizer_hooking hooking = try_now();

	atomic_store(&optimizer.asked_ns, 0);
	return hooking == GMT_OPTIMIZER_INTERRUPTED ? -1 : 0;
}

static void try_on_new_thread(void)
{
	/* On this thread, no caller would receive the exception. */
	if (!atomic_load(&gmt_optimizer_is_settled) && try_now() == GMT_OPTIMIZER_INTERRUPTED)
		gmt_interpreter.clear_error();
}

static bool is_main_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

static void try_on_some_thread(void)
{
	uint64_t asked = atomic_load(&optimizer.asked_ns), now_ns = gmt_clock_monotonic_ns();

	if (!gmt_interpreter_is_alive()) {
		try_later();
	} else if (is_main_thread()) {
		/*
		 * Stored before the call, because Python's main thread may be another thread and may run
		 * the call first.
		 */
		if (asked)
			return;
		atomic_store(&optimizer.asked_ns, now_ns);
		if (!gmt_interpreter_call_soon(try_on_main_thread))
			atomic_store(&optimizer.asked_ns, 0);
	} else if (!asked || now_ns - asked > MAIN_THREAD_WAIT_NS) {
		if (!gmt_interpreter_call_on_new_thread(try_on_new_thread))
			try_later();
	}
}

static void find_interpreter_and_try(void)
{
	const char *why = "";

	if (!gmt_config.steps) {
		atomic_store(&gmt_optimizer_is_settled, true);
		return;
	}
	if (!gmt_session_is_on()) {
		try_later();
		return;
	}
	switch (gmt_interpreter_find(&why)) {
	case GMT_INTERPRETER_ABSENT:
		try_later();
		break;
	case GMT_INTERPRETER_UNSUPPORTED:
		give_up(why);
		break;
	case GMT_INTERPRETER_SUPPORTED:
		atomic_store_explicit(&optimizer.is_found, true, memory_order_release);
		/*
		 * A thread without a Python state, such as an autograd thread, does not start a training.
		 */
		if (gmt_interpreter.this_thread())
			try_on_some_thread();
		break;
	}
}

void gmt_optimizer_on_early_block(void)
{
	int kept_errno = errno;

	if (atomic_load_explicit(&optimizer.is_found, memory_order_acquire) &&
		!gmt_interpreter.this_thread())
		return;
	if (atomic_fetch_add(&optimizer.blocks, 1) + 1 < atomic_load(&optimizer.next_try) ||
		atomic_flag_test_and_set(&optimizer.try_lock))
		return;
	find_interpreter_and_try();
	atomic_flag_clear(&optimizer.try_lock);
	errno = kept_errno;
}

/* Call in the child of a fork. Registered hooks stay; everything else starts again. */
static void after_fork(void)
{
	gmt_interpreter_forget_threads();
	atomic_flag_clear(&optimizer.try_lock);
	atomic_store(&optimizer.blocks, 0);
	atomic_store(&optimizer.next_try, 0);
	atomic_store(&optimizer.asked_ns, 0);
}

GMT_AT_STAGE(after_fork, MARKS, after_fork);

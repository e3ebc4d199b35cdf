/* SPDX-License-Identifier: MIT */
#include "lifecycle/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind/native_capture.h"
#include "unwind/stack_bounds.h"
#include "python/python_capture.h"
#include "python/python_code_frees.h"
#include "python/python_selftest.h"
#include "unwind/rule_cache.h"
#include "runtime/config.h"
#include "runtime/stderr_messages.h"
#include "marks/nvtx_getenv.h"
#include "marks/open_phases.h"
#include "driver/sampler.h"
#include "producer/clock.h"
#include "producer/session_state.h"
#include "runtime/log.h"
#include "runtime/stages.h"
#include "writer/session.h"
#include "hooks/hooks.h"
#include "runtime/initialize.h"
#include "runtime/fork_detection.h"
#include "runtime/recorder_stack.h"
#include "lifecycle/exec.h"
#include "driver/contexts.h"
#include "interpose/dlerror.h"
#include "interpose/dlsym.h"
#include "interpose/patch_dynsym.h"
#include "interpose/hide_exports.h"
#include "lifecycle/fork_without_handlers.h"
#include "interpose/libc_dlsym.h"
#include "interpose/dlmopen_namespaces.h"
#include "lifecycle/setuid.h"
#include "interpose/loaded_objects.h"
#include "interpose/originals.h"
#include "interpose/elf_symbols.h"

/*
 * libc's function that registers an exit handler. With a NULL `library`, it belongs to no library.
 */
extern int __cxa_atexit(void (*handler)(void *), void *argument, void *library);

static struct {
	void (*original_pthread_exit)(void *result);
	_Atomic bool has_reached_driver;
	atomic_flag is_looking_for_python;
} lifecycle = { .is_looking_for_python = ATOMIC_FLAG_INIT };

/*
 * Finds a symbol in any loaded object, without the loader's lock. The writer's thread calls this
 * function too. A thread that exits from a library's constructor holds that lock and waits for the
 * writer.
 */
static void *find_anywhere(const char *name)
{
	return gmt_elf_symbol_in_objects(NULL, name);
}

/*
 * Looks for the unwinder, even if no stacks are recorded: the recorder also needs stacks to see
 * that a call was left by a jump (outer_call.h).
 */
static void look_for_unwinder(void)
{
	enum gmt_unwinder found;

	gmt_stack_bounds_find_end(find_anywhere);
	gmt_rule_cache_init(find_anywhere);
	found = gmt_native_init();
	if (!gmt_config.native_stacks)
		return;
	switch (found) {
	case GMT_UNWINDER_LIBUNWIND:
		break;
	case GMT_UNWINDER_LIBGCC:
		gmt_stderr_warn("libunwind.so.8 was not found; "
						"native stacks are taken with libgcc's unwinder, which is slower");
		gmt_log_note(
			"native stacks were taken with libgcc's unwinder: libunwind.so.8 was not found");
		break;
	case GMT_UNWINDER_NONE:
		gmt_stderr_warn("libunwind.so.8 and libgcc_s.so.1 were not found; "
						"stacks that need an unwinder have no native frames");
		gmt_log_note("stacks that need an unwinder have no native frames: "
					 "libunwind.so.8 and libgcc_s.so.1 were not found");
		break;
	}
}

/*
 * Looks for Python, repeatedly: the interpreter may be loaded later than CUDA. Reports an
 * interpreter whose frames the recorder cannot read.
 */
static void look_for_python(void)
{
	static bool was_reported;
	char why[256] = "", line[320];

	if (!gmt_config.python_stacks ||
		atomic_flag_test_and_set_explicit(&lifecycle.is_looking_for_python, memory_order_acquire))
		return;
	if (gmt_python_init(find_anywhere, why, sizeof(why)) == GMT_PYTHON_REFUSED && !was_reported) {
		was_reported = true;
		gmt_stderr_warn("%s; stacks have no Python frames", why);
		snprintf(line, sizeof(line), "stacks have no Python frames: %s", why);
		gmt_log_note(line);
	}
	atomic_flag_clear_explicit(&lifecycle.is_looking_for_python, memory_order_release);
}

/* Reports symbol tables that cannot be written. The driver may be loaded late, so not only once. */
static void warn_of_read_only_tables(void)
{
	if (atomic_load_explicit(&lifecycle.has_reached_driver, memory_order_relaxed) &&
		gmt_dynsym_is_read_only() &&
		gmt_stderr_warn("symbol tables are not writable (mprotect is refused): "
						"calls from libraries opened with RTLD_DEEPBIND are not recorded"))
		gmt_log_note(
			"symbol tables were not writable: calls from libraries opened with RTLD_DEEPBIND are "
			"not recorded");
}

/* The writer's thread calls this about once per second. */
static void look_each_second(void)
{
	look_for_python();
	warn_of_read_only_tables();
}

/*
 * Returns whether only the recorder's own `own` threads are left. The last thread of a program
 * calls exit(), by libc's count of threads. A thread that ends by the bare system call stays in
 * that count, so then no thread calls exit().
 */
static bool is_last_thread(unsigned own)
{
	static const unsigned *count; /* Only the writer's thread uses it. */

	if (!count)
		count = gmt_elf_symbol_in_library("libc.so.6", "__nptl_nthreads");
	/* Until glibc 2.33, the count is in a separate library. */
	if (!count)
		count = gmt_elf_symbol_in_library("libpthread.so.0", "__nptl_nthreads");
	return count && *(const volatile unsigned *)count <= own;
}

static void stop_sampler(void)
{
	gmt_sampler_stop(false);
}

/* Needs a large stack, because it makes a thread. */
static void start_sampler_on_recorder_stack(void *unused)
{
	(void)unused;
	if (!gmt_fork_detection_is_child())
		gmt_sampler_start();
}

/* Starts the sampler at a thread's first event or at a new context, in a thread of the program. */
static void start_sampler(void)
{
	int kept_errno = errno;

	if (gmt_session_is_on() && gmt_contexts_seen_any())
		gmt_recorder_stack_run(start_sampler_on_recorder_stack, NULL);
	errno = kept_errno;
}

/* Returns the number of the recorder's threads except the writer. */
static unsigned count_other_threads(void)
{
	return gmt_sampler_is_running() ? 1 : 0;
}

/* Reports an error in the options, on stderr and in the recording. */
static void report_option(const char *text)
{
	gmt_stderr_warn_text(text);
	gmt_log_note(text);
}

/* Prepares the recorder. Needs a large stack, because it opens libraries. */
static void prepare(void *unused)
{
	bool is_held = gmt_dlerror_hold();

	(void)unused;
	gmt_fork_detection_begin();
	gmt_config_warn(report_option);
	gmt_python_selftest_every = gmt_config.selftest;
	gmt_python_watches_code = gmt_config.watch_code;
	look_for_unwinder();
	look_each_second();
	gmt_dlerror_release(is_held);
	gmt_session_call_each_second(look_each_second);
	gmt_session_call_each_round(gmt_sampler_tick, count_other_threads);
	gmt_session_call_when_alone(is_last_thread, stop_sampler);
	gmt_session_call_at_claim(start_sampler);
	gmt_contexts_on_new(start_sampler);
}

/*
 * Prepares the recorder at the first success of cuInit or cuGetProcAddress. Idempotent. Any thread.
 */
static void reach_driver(void)
{
	bool expected = false;

	if (atomic_load_explicit(&lifecycle.has_reached_driver, memory_order_relaxed) ||
		!atomic_compare_exchange_strong(&lifecycle.has_reached_driver, &expected, true))
		return;
	if (gmt_session_may_begin())
		gmt_recorder_stack_run(prepare, NULL);
}

GMT_AT_STAGE(driver_reached, LIFECYCLE, reach_driver);

static void before_fork(void)
{
	GMT_RUN_STAGE_BACKWARDS(before_fork);
}

static void in_parent_of_fork(void)
{
	GMT_RUN_STAGE(fork_parent);
}

/* Lets the child of a fork look for Python: the thread that was looking does not exist there. */
static void after_fork(void)
{
	atomic_flag_clear(&lifecycle.is_looking_for_python);
}

GMT_AT_STAGE(after_fork, LIFECYCLE, after_fork);

/*
 * Returns whether the program is linked to CUDA. The first CUDA call of such a program may be an
 * allocation, so the recorder must be ready before it.
 */
static bool is_linked_to_cuda(void)
{
	return gmt_original_next_at_start(GMT_HOOK_cuInit) ||
		gmt_original_next_at_start(GMT_HOOK_cudaMalloc);
}

/*
 * Ends the recording, except in the child of a vfork, which runs in its parent's memory.
 * `is_driver_usable`: the sampler can take a last sample.
 */
static void end_recording(bool is_driver_usable)
{
	char line[128];

	if (gmt_fork_detection_is_child())
		return;
	if (gmt_session_has_begun()) {
		warn_of_read_only_tables();
		if (gmt_native_selftest(line, sizeof(line)))
			gmt_log_note(line);
		if (gmt_python_selftest(line, sizeof(line)))
			gmt_log_note(line);
		gmt_phase_end();
	}
	gmt_sampler_stop(is_driver_usable);
	gmt_session_end();
}

/*
 * Runs after the destructors of all linked and opened libraries, because these may free memory.
 * libc calls exit handlers in reverse order, and the loader's handler calls the destructors. The
 * recorder registers this handler before libc registers the loader's. The handler belongs to no
 * library: otherwise libc would call it together with the recorder's own destructor.
 */
static void on_last_exit(void *unused)
{
	(void)unused;
	/* In a process without CUDA, this makes no system call. */
	if (gmt_session_has_begun() ||
		atomic_load_explicit(&lifecycle.has_reached_driver, memory_order_relaxed))
		end_recording(false);
	else
		gmt_session_never_begin();
}

/*
 * Stops the sampler, because the destructors of the driver may run next. Events are still recorded.
 */
__attribute__((destructor)) static void on_exit_of_process(void)
{
	if (gmt_session_has_begun() && !gmt_fork_detection_is_child())
		gmt_sampler_stop(false);
}

/* Runs at quick_exit(), which calls neither destructors nor the _exit below. */
static void on_quick_exit(void)
{
	if (gmt_session_has_begun() ||
		atomic_load_explicit(&lifecycle.has_reached_driver, memory_order_relaxed))
		end_recording(true);
}

static void find_pthread_exit(void)
{
	*(void **)&lifecycle.original_pthread_exit = gmt_original_dlsym(RTLD_NEXT, "pthread_exit");
}

/* Does the work of the stage `initialize` (runtime/initialize.h). */
static void load(void)
{
	/* A set-uid program must not write files for its caller, who lacks its rights. */
	bool is_inert = getauxval(AT_SECURE) != 0;

	gmt_stderr_init();
	gmt_config_init(is_inert ? NULL : getenv("GPUMEMTRACE_OPTIONS"));
	is_inert |= !gmt_config.records_process;
	gmt_hide_exports();
	gmt_object_self();
	gmt_stack_bounds_init();
	gmt_libc_init();
	gmt_original_scan_global_scope();
	gmt_dlsym_init();
	gmt_clock_init();
	gmt_fork_detection_init();
	gmt_session_init(!is_inert);
	gmt_nvtx_getenv_init(!is_inert);
	if (is_inert)
		return;
	gmt_dynsym_patch_libc();
	if (is_linked_to_cuda())
		gmt_dynsym_patch_driver();
	if (gmt_config.help)
		gmt_config_help(gmt_stderr_print);
	gmt_phase_init();
	pthread_atfork(before_fork, in_parent_of_fork, gmt_fork_detection_reset_child);
	/* libc calls the handler that was registered first as the last one. */
	at_quick_exit(on_quick_exit);
	__cxa_atexit(on_last_exit, NULL, NULL);
	gmt_exec_init();
	gmt_fork_without_handlers_init();
	find_pthread_exit();
	gmt_setuid_init();
	gmt_namespaces_allow_wrappers();
	if (is_linked_to_cuda())
		reach_driver();
}

GMT_AT_STAGE(initialize, LIFECYCLE, load);

__attribute__((constructor)) static void on_load(void)
{
	gmt_initialize();
}

/* Replaces pthread_exit, by which the main thread may end while the process continues. */
__attribute__((visibility("default"), noreturn)) void pthread_exit(void *result)
{
	gmt_session_main_thread_ends();
	if (!lifecycle.original_pthread_exit)
		find_pthread_exit();
	lifecycle.original_pthread_exit(result);
	__builtin_unreachable();
}

/*
 * Replaces _exit, which ends the process without destructors. The children of Python's
 * multiprocessing end in this way. libc's exit() does not call this function.
 */
__attribute__((visibility("default"), noreturn)) void _exit(int status)
{
	if (gmt_session_has_begun() ||
		atomic_load_explicit(&lifecycle.has_reached_driver, memory_order_relaxed))
		end_recording(true);
	for (;;)
		syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"), noreturn, alias("_exit"))) void _Exit(int status);

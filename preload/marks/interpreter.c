/* SPDX-License-Identifier: MIT */
#include "marks/interpreter.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "runtime/config.h"
#include "runtime/bounded_wait.h"
#include "interpose/elf_symbols.h"

enum {
	WAIT_NS = 20000000, /* the caller's wait for the new thread */
	/*
	 * The caller's wait while the new thread creates its thread state. The caller must not hang for
	 * ever, even if Python could then end in the middle.
	 */
	ENTER_WAIT_NS = 1000000000,
};

/* How long the end of the interpreter waits for our thread, which works for some milliseconds. */
#define END_WAIT_NS UINT64_C(10000000000)

enum stage {
	STAGE_IDLE,
	STAGE_STARTING,    /* the thread is being started; the caller waits */
	STAGE_ENTERING, /* the thread creates its thread state; the caller waits */
	STAGE_INSIDE,   /* the thread waits for the GIL, or works */
};

struct gmt_interpreter gmt_interpreter;

static struct {
	_Atomic uint32_t stage; /* enum stage */
	_Atomic bool is_wait_requested; /* the main thread is to wait, and has not begun to */
	/*
	 * No thread may enter any more. gmt_interpreter_close stores this and then reads `stage`. An
	 * entering thread stores `stage` and then reads this. So at least one of them sees the other.
	 */
	_Atomic bool is_closed;
	void (*new_thread_work)(void);
} interpreter;

/* Finds a function of Python, by its name in newer or in older versions. */
static void *find_either(const char *name, const char *other)
{
	void *function = gmt_elf_symbol_in_objects(NULL, name);

	return function ? function : gmt_elf_symbol_in_objects(NULL, other);
}

/*
 * Returns why the recorder cannot enter this Python, or NULL. `version` looks like "3.11.7 (main,
 * ..." or "3.13.0 experimental free-threading build (main, ..."
 */
static const char *why_unsupported(const char *version)
{
	char *rest;
	unsigned long major = strtoul(version, &rest, 10);
	unsigned long minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;

	if (major != 3 || minor < 9)
		return "Python is older than 3.9";
	/*
	 * In a free-threaded build, other threads can change the state between our check and our
	 * action.
	 */
	if (strstr(version, "free-threading"))
		return "Python is a free-threaded build";
	return NULL;
}

static enum gmt_interpreter_state find_functions(const char **ret_why)
{
	struct gmt_interpreter found = { 0 };
	const char *(*get_version)(void) = gmt_elf_symbol_in_objects(NULL, "Py_GetVersion");
	const char *missing = NULL;

	found.is_initialized = gmt_elf_symbol_in_objects(NULL, "Py_IsInitialized");
	if (!get_version || !found.is_initialized || !found.is_initialized())
		return GMT_INTERPRETER_ABSENT;
	*ret_why = why_unsupported(get_version());
	if (*ret_why)
		return GMT_INTERPRETER_UNSUPPORTED;

#define FIND(type, name, symbol, parameters) \
	found.name = gmt_elf_symbol_in_objects(NULL, #symbol); \
	if (!found.name) \
		missing = "Python has no " #symbol;
	GMT_PYTHON_FUNCTIONS(FIND)
#undef FIND
	found.running_thread = find_either("PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet");
	found.is_finalizing = find_either("Py_IsFinalizing", "_Py_IsFinalizing");
	found.gc_disable = gmt_elf_symbol_in_objects(NULL, "PyGC_Disable");
	found.gc_enable = gmt_elf_symbol_in_objects(NULL, "PyGC_Enable");
	found.none = gmt_elf_symbol_in_objects(NULL, "_Py_NoneStruct");
	found.dict_type = gmt_elf_symbol_in_objects(NULL, "PyDict_Type");
	found.list_type = gmt_elf_symbol_in_objects(NULL, "PyList_Type");
	found.text_type = gmt_elf_symbol_in_objects(NULL, "PyUnicode_Type");
	found.exception_type = gmt_elf_symbol_in_objects(NULL, "PyExc_Exception");
	if (!found.running_thread || !found.is_finalizing || !found.none || !found.dict_type ||
		!found.list_type || !found.text_type || !found.exception_type)
		missing = "Python lacks functions that the recorder needs";
	if (missing) {
		*ret_why = missing;
		return GMT_INTERPRETER_UNSUPPORTED;
	}
	gmt_interpreter = found;
	return GMT_INTERPRETER_SUPPORTED;
}

enum gmt_interpreter_state gmt_interpreter_find(const char **ret_why)
{
	return gmt_interpreter.none ? GMT_INTERPRETER_SUPPORTED : find_functions(ret_why);
}

bool gmt_interpreter_is_alive(void)
{
	return gmt_interpreter.is_initialized() && !gmt_interpreter.is_finalizing();
}

/*
 * From 3.9 to 3.15, Py_AddPendingCall needs no GIL and allocates no memory. It holds its lock for a
 * few instructions. A signal handler of Python may want that lock too, so all signals are blocked
 * meanwhile.
 */
bool gmt_interpreter_call_soon(int (*work)(void *unused))
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failure = gmt_interpreter.add_pending_call(work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failure;
}

/*
 * Call on the main thread, with the GIL.
 *
 * Python treats a thread that waits for the GIL during finalization like a daemon thread: it frees
 * the thread's state. If the thread gets the GIL after all, Python up to 3.13 reads that freed
 * state. So the interpreter must not end before our thread is gone.
 *
 * Only the main thread can ensure this. Before it ends anything, it runs pending calls and then the
 * atexit callbacks. After our first work in the interpreter, gmt_interpreter_close is among these
 * callbacks. One case remains: the very first block comes from a daemon thread while the callbacks
 * run.
 *
 * After finalization has begun, our thread never returns, so no thread may wait for it.
 */
static void wait_until_gone(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(END_WAIT_NS);

	if (atomic_load(&interpreter.stage) == STAGE_IDLE || !gmt_interpreter_is_alive())
		return;

	void *thread = gmt_interpreter.save_thread();

	while (atomic_load(&interpreter.stage) != STAGE_IDLE && gmt_bounded_wait_rest(&wait))
		;
	gmt_interpreter.restore_thread(thread);
}

static int wait_as_requested(void *unused)
{
	(void)unused;
	/* Reset first: a thread that requests a wait from now on schedules another call. */
	atomic_store(&interpreter.is_wait_requested, false);
	wait_until_gone();
	return 0;
}

void gmt_interpreter_close(void)
{
	atomic_store(&interpreter.is_closed, true);
	wait_until_gone();
}

/*
 * Call after the store of `stage`. At most one call is pending, because Python's queue is short and
 * the program uses it too.
 */
static bool request_wait_before_end(void)
{
	if (atomic_exchange(&interpreter.is_wait_requested, true) ||
		gmt_interpreter_call_soon(wait_as_requested))
		return true;
	atomic_store(&interpreter.is_wait_requested, false);
	return false;
}

/*
 * Does not use PyGILState_Ensure: if the interpreter has ended meanwhile, that function uses freed
 * memory. The thread state is created while request_wait_before_end keeps the interpreter from
 * ending. This does not need the GIL.
 *
 * is_recorder_thread stays false: if an object is destroyed here, its memory is the program's.
 */
static void *run_on_new_thread(void *unused)
{
	uint32_t starting = STAGE_STARTING;

	(void)unused;
	prctl(PR_SET_NAME, "gmt-python", 0, 0, 0);
	if (!atomic_compare_exchange_strong(&interpreter.stage, &starting, STAGE_ENTERING))
		return NULL;

	void *thread = gmt_interpreter_is_alive()
		? gmt_interpreter.thread_new(gmt_interpreter.main_interpreter())
		: NULL;

	if (thread) {
		atomic_store(&interpreter.stage, STAGE_INSIDE);
		gmt_interpreter.restore_thread(thread);
		if (gmt_interpreter_is_alive())
			interpreter.new_thread_work();
		gmt_interpreter.thread_clear(thread);
		gmt_interpreter.thread_delete_current(); /* also releases the GIL */
	}
	atomic_store(&interpreter.stage, STAGE_IDLE);
	return NULL;
}

static bool start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* The new thread inherits the mask, so it never receives a signal of the host program. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/*
	 * Uses the default stack size: the host's thread-local data is also on the stack, and may be
	 * large.
	 */
	int failure = pthread_create(&thread, &attributes, run_on_new_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return !failure;
}

/*
 * Waits until the work is done. A caller that holds the GIL waits only until the new thread is
 * INSIDE: from then on, the thread needs no protection.
 */
static void wait_for_thread(bool holds_gil)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(gmt_config_wait_ns(WAIT_NS));
	struct gmt_bounded_wait until_entered =
		gmt_bounded_wait_begin(gmt_config_wait_ns(ENTER_WAIT_NS));
	uint32_t stage;

	while ((stage = atomic_load(&interpreter.stage)) != STAGE_IDLE &&
		!(stage == STAGE_INSIDE && holds_gil)) {
		uint32_t starting = STAGE_STARTING;

		/* The time is over. If the thread has not entered yet, STAGE_IDLE makes it end at once. */
		if (!gmt_bounded_wait_rest(&wait) &&
			(stage == STAGE_INSIDE ||
				atomic_compare_exchange_strong(&interpreter.stage, &starting, STAGE_IDLE) ||
				!gmt_bounded_wait_rest(&until_entered)))
			return;
	}
}

bool gmt_interpreter_call_on_new_thread(void (*work)(void))
{
	uint32_t idle = STAGE_IDLE;
	bool holds_gil = gmt_interpreter.running_thread() == gmt_interpreter.this_thread();

	if (!atomic_compare_exchange_strong(&interpreter.stage, &idle, STAGE_STARTING))
		return false;
	interpreter.new_thread_work = work;
	if (atomic_load(&interpreter.is_closed) || !request_wait_before_end() || !start_thread()) {
		atomic_store(&interpreter.stage, STAGE_IDLE);
		return false;
	}
	wait_for_thread(holds_gil);
	return true;
}

void gmt_interpreter_forget_threads(void)
{
	atomic_store(&interpreter.stage, STAGE_IDLE);
	atomic_store(&interpreter.is_wait_requested, false);
}

void *gmt_interpreter_module_attribute(const char *module, const char *name)
{
	return gmt_interpreter_attribute(gmt_interpreter.dict_find(gmt_interpreter.modules(), module),
		name);
}

void *gmt_interpreter_dict_value(void *object, const char *name)
{
	const struct gmt_interpreter *py = &gmt_interpreter;
	void *dictionary = py->generic_dict(object, NULL);
	void *value = dictionary && gmt_interpreter_is_a(dictionary, py->dict_type)
		? py->dict_find(dictionary, name)
		: NULL;

	py->clear_error();
	gmt_interpreter_release(dictionary); /* the object keeps it alive */
	return value;
}

void *gmt_interpreter_call_method(void *object, const char *method)
{
	void *function = gmt_interpreter_attribute(object, method);
	void *result = function ? gmt_interpreter.call(function, NULL) : NULL;

	gmt_interpreter.clear_error();
	gmt_interpreter_release(function);
	return result;
}

/* SPDX-License-Identifier: MIT */
/*
 * The Python walk as a library for ctypes, with a depot, stacks as text, and a dlsym that can lie.
 * Each copy of the library file has its own capture state.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "python/python_capture.h"
#include "python/python_code_frees.h"
#include "python/python_trace.h"
#include "runtime/recorder_stack.h"

#define EXPORT __attribute__((visibility("default")))

enum { ARENA_BYTES = 256 << 20, NATIVE_LIMIT = 16384 };

EXPORT uint32_t test_init(uint32_t lie, char *ret_why, uint32_t why_bytes);
EXPORT void test_watch_code(int is_on);
EXPORT uint32_t test_restart(uint64_t ready_bytes);
EXPORT int test_has_whole_loop(void);
EXPORT uint32_t test_capture(uint32_t depth, uint32_t *ret_runs, uint32_t *ret_lost);
EXPORT uint32_t test_take(void);
EXPORT uint32_t test_take_nothing(void);
EXPORT void test_take_while_raising(void *type, const char *message);
EXPORT uint32_t test_decode(uint32_t id, char *ret_text, uint32_t text_bytes);
EXPORT const char *test_version(void);
EXPORT uint32_t test_capture_without_python(void);
EXPORT void test_capture_for_ever(void);
EXPORT void test_end(void);
EXPORT double test_bench(uint32_t depth, uint32_t captures);

/* Runs the work directly: the interpreter's stacks are large enough. */
bool gmt_recorder_stack_run(void (*work)(void *argument), void *argument)
{
	work(argument);
	return true;
}

static struct gmt_depot *depot;

/*
 * Returns the thread's trace. It is a pointer because a library opened late has little thread-local
 * buffer. Never freed: the process ends.
 */
static struct gmt_python_trace *trace_of_thread(void)
{
	static _Thread_local struct gmt_python_trace *trace;

	if (!trace)
		trace = calloc(1, sizeof(*trace));
	return trace;
}

/* The answers that test_find gives. */
enum lie {
	TRUTH,
	DEBUG_BUILD,
	OTHER_LINES, /* the public API gives other lines than the tables */
	FREE_THREADED, /* from here to OTHER_FIELDS: needs the offsets table of 3.13 */
	OTHER_VERSION,
	OTHER_FIELDS,
	NO_PYTHON,
	OTHER_HEADER,
};

static enum lie lie;
static uint64_t offsets[128];
static int (*real_line)(void *frame);

static int wrong_line(void *frame)
{
	return real_line(frame) + 1;
}

static void *test_find(const char *name)
{
	static char *no_type[4];
	void *real = dlsym(RTLD_DEFAULT, name);

	if (lie == NO_PYTHON && !strcmp(name, "Py_IsInitialized"))
		return NULL;
	if (lie == OTHER_HEADER && !strcmp(name, "PyType_Type"))
		return no_type;
	if (lie == DEBUG_BUILD && !strcmp(name, "_Py_NegativeRefcount"))
		return (void *)test_find;
	if (lie == OTHER_LINES && !strcmp(name, "PyFrame_GetLineNumber")) {
		memcpy(&real_line, &real, sizeof(real_line));
		return (void *)wrong_line;
	}
	if (lie >= FREE_THREADED && lie <= OTHER_FIELDS && real && !strcmp(name, "_PyRuntime")) {
		memcpy(offsets, real, sizeof(offsets));
		if (lie == FREE_THREADED)
			offsets[2] = 1;
		if (lie == OTHER_VERSION)
			offsets[1]++;
		if (lie == OTHER_FIELDS) { /* the name's offset as the file's offset */
			offsets[35] = offsets[36];
		}
		return offsets;
	}
	return real;
}

uint32_t test_init(uint32_t which_lie, char *ret_why, uint32_t why_bytes)
{
	lie = which_lie;
	if (!depot)
		test_restart(ARENA_BYTES);
	return gmt_python_init(test_find, ret_why, why_bytes);
}

/* Sets the option watch_code. Must precede test_init. */
void test_watch_code(int is_on)
{
	gmt_python_watches_code = is_on;
}

/*
 * Opens a new depot of `ready_bytes`. Keeps the old depot's memory, because other threads may still
 * use it.
 */
uint32_t test_restart(uint64_t ready_bytes)
{
	void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	depot = gmt_depot_open(arena, ARENA_BYTES, ready_bytes);
	gmt_python_reset();
	return depot != NULL;
}

/*
 * Returns how many runs of the interpreter's loop are on the native stack. The entry bits must add
 * up to this.
 */
static uint32_t count_runs(void)
{
	void **addresses = malloc(NATIVE_LIMIT * sizeof(*addresses));
	int count = backtrace(addresses, NATIVE_LIMIT);
	uint32_t runs = 0;

	for (int i = 0; i < count; i++) {
		Dl_info info;

		runs += dladdr((char *)addresses[i] - 1, &info) && info.dli_sname &&
			!strcmp(info.dli_sname, "_PyEval_EvalFrameDefault");
	}
	free(addresses);
	return runs;
}

/*
 * Returns whether the interpreter's loop is in one piece. Compilers may split the loop, and a
 * stripped interpreter does not name the other parts.
 */
int test_has_whole_loop(void)
{
	enum { MIN_BYTES = 4096 };
	ElfW(Sym) *symbol = NULL;
	void *loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
	Dl_info info;

	return loop && dladdr1(loop, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
		symbol->st_size >= MIN_BYTES;
}

uint32_t test_capture(uint32_t depth, uint32_t *ret_runs, uint32_t *ret_lost)
{
	bool is_lost = false;
	uint32_t id = gmt_python_capture(depot, depth, trace_of_thread(), &is_lost);

	if (ret_lost)
		*ret_lost = is_lost;
	if (ret_runs)
		*ret_runs = count_runs();
	return id;
}

uint32_t test_take(void)
{
	bool is_lost = false;

	return gmt_python_capture(depot, 1024, trace_of_thread(), &is_lost);
}

/* Does nothing: shows what a call of this library costs without a capture. */
uint32_t test_take_nothing(void)
{
	return 0;
}

/*
 * Takes a stack while an exception is pending, as in a destructor. The exception then propagates.
 */
void test_take_while_raising(void *type, const char *message)
{
	void (*set_string)(void *, const char *) = dlsym(RTLD_DEFAULT, "PyErr_SetString");

	set_string(type, message);
	test_take();
}

/*
 * Writes the `truncated` flag, then for each frame a record separator and "entry US function US
 * file US line US first line". A gap is empty. Returns the length, 0 if the text does not fit.
 */
uint32_t test_decode(uint32_t id, char *ret_text, uint32_t text_bytes)
{
	struct gmt_depot_entry *entry = gmt_depot_get(depot, id);
	const struct gmt_depot_frames *frames = (const void *)(entry + 1);
	uint32_t count = (entry->length - 4) / 4;
	uint32_t length = 0;

	if (entry->kind != GMT_DEPOT_FRAMES)
		return 0;
	length += (uint32_t)snprintf(ret_text, text_bytes, "%u", frames->truncated);
	for (uint32_t i = 0; i < count && length < text_bytes; i++) {
		if (!frames->items[i]) {
			length += (uint32_t)snprintf(ret_text + length, text_bytes - length, "\x1e");
			continue;
		}

		struct gmt_depot_entry *frame_entry = gmt_depot_get(depot, frames->items[i] / 2);
		const struct gmt_depot_frame *frame = (const void *)(frame_entry + 1);
		struct gmt_depot_entry *code_entry = gmt_depot_get(depot, frame->code);
		const struct gmt_depot_code *code = (const void *)(code_entry + 1);

		if (frame_entry->kind != GMT_DEPOT_FRAME || code_entry->kind != GMT_DEPOT_CODE)
			return 0;
		length += (uint32_t)snprintf(ret_text + length, text_bytes - length,
			"\x1e%u\x1f%.*s\x1f%.*s\x1f%u\x1f%u", frames->items[i] & 1, (int)code->function_length,
			code->text, (int)code->file_length, code->text + code->function_length, frame->line,
			code->first_line);
	}
	return length < text_bytes ? length : 0;
}

const char *test_version(void)
{
	return gmt_python_version();
}

static void *capture_once(void *ret_id)
{
	*(uint32_t *)ret_id = test_take();
	return NULL;
}

/* Returns the stack of a thread that never ran Python. */
uint32_t test_capture_without_python(void)
{
	uint32_t id = 1;
	pthread_t thread;

	if (!pthread_create(&thread, NULL, capture_once, &id))
		pthread_join(thread, NULL);
	return id;
}

void test_capture_for_ever(void)
{
	for (;;)
		test_take();
}

void test_end(void)
{
	gmt_python_end();
}

/* Returns the nanoseconds of one capture, from the best of several rounds. */
double test_bench(uint32_t depth, uint32_t captures)
{
	double best = 1e18;

	for (uint32_t round = 0; round < 15; round++) {
		struct timespec from, to;
		bool is_lost = false;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (uint32_t i = 0; i < captures; i++)
			gmt_python_capture(depot, depth, trace_of_thread(), &is_lost);
		clock_gettime(CLOCK_MONOTONIC, &to);

		double took =
			((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
			captures;

		best = took < best ? took : best;
	}
	return best;
}

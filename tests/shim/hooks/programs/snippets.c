/* SPDX-License-Identifier: MIT */
/*
 * snippets ROUTE [SYMBOL...]: calls every hooked function once in one process. ROUTE is how it gets
 * the functions. For each hooked call it prints the expected event ("event ..."), and the result
 * and errno ("result ..."), which are the same without a recorder. "none SYMBOL": the route does
 * not lead to the function.
 *
 * Routes: export (bound when the program was linked), dlsym, dlvsym, handle (dlsym in the handle of
 * dlopen(NULL)), default (in RTLD_DEFAULT), proc_address and proc_address_v2, and the runtime's
 * entry_point (of the version of a row) and entry_point12 (of CUDA 12's runtime, which knows one
 * version).
 */
#include "snippets.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "hooks/hooks.h"

enum { OWN_ERRNO = 77, PER_THREAD = 2 };

struct row {
	const char *symbol, *base;
	int since, is_per_thread, is_driver;
	void (*snippet)(void *function);
	void *linked;
	const char *below; /* of the runtime: the driver's function that it calls */
};

#define LEGACY 0
#define PTDS 1
#define IS_CUDA 1
#define IS_CUDART 0
#define BELOW_CUDA(symbol) NULL
#define BELOW_CUDART(symbol) below_##symbol

/* Takes the address of each symbol that this program is linked to. */
#ifdef IS_STATIC
#define FOR_CUDA(...)
#else
#define FOR_CUDA(...) __VA_ARGS__
#endif
#define FOR_CUDART(...) __VA_ARGS__

#define GMT_HOOK_ANY(library, symbol, ...) \
	FOR_##library(extern void linked_##symbol(void) __asm__(#symbol); \
		extern const char below_##symbol[]; void snippet_##symbol(void *function);)
#define GMT_HOOK_ELSEWHERE(...)
#include "hooks/hooks.def"

static const struct row rows[] = {
#define GMT_HOOK_ANY(library, symbol, base, since, mode, ...) \
	FOR_##library({ #symbol, #base, since, mode, IS_##library, snippet_##symbol, \
					  (void *)linked_##symbol, BELOW_##library(symbol) }, )
#define GMT_HOOK_ELSEWHERE(...)
#include "hooks/hooks.def"
};

enum { ROW_COUNT = sizeof(rows) / sizeof(*rows) };

static const char *current;
static int failures;

void *driver(const char *symbol)
{
	static void *handle;
	void *function;

	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW);
	function = handle ? dlsym(handle, symbol) : NULL;
	if (!function) {
		fprintf(stderr, "no %s\n", symbol);
		exit(2);
	}
	return function;
}

void saw(const struct seen *seen)
{
	printf("event %s %s %s %d %llu %llu %llu %llu\n", seen->api ? seen->api : current, seen->kind,
		seen->space, seen->device, seen->size, seen->address, seen->object, seen->stream);
}

void set_errno(void)
{
	errno = OWN_ERRNO;
}

void check(int result, const char *expression)
{
	int kept = errno;

	if (result) {
		failures++;
		fprintf(stderr, "%s: %s is %d\n", current, expression, result);
	}
	printf("result %s %d %d\n", current, result, kept);
}

void refuse(int result, const char *expression)
{
	int kept = errno;

	if (!result) {
		failures++;
		fprintf(stderr, "%s: %s is not refused\n", current, expression);
	}
	printf("result %s %d %d\n", current, result, kept);
	/* Prints the runtime's last error too, and clears it for the next call. */
	printf("error %s %d\n", current, (int)cudaGetLastError());
}

/*
 * --- routes
 * ----------------------------------------------------------------------------------------
 */

static void *library(const char *name)
{
	void *handle = dlopen(name, RTLD_NOW);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return handle;
}

static void *by_proc_address(const struct row *row)
{
	void *address = NULL;

	return D(cuGetProcAddress)(row->base, &address, row->since, row->is_per_thread ? PER_THREAD : 0)
		? NULL
		: address;
}

static void *by_proc_address_v2(const struct row *row)
{
	void *address = NULL;
	CUdriverProcAddressQueryResult status;

	return D(cuGetProcAddress_v2)(row->base, &address, row->since,
			   row->is_per_thread ? PER_THREAD : 0, &status)
		? NULL
		: address;
}

static void *by_entry_point(const struct row *row)
{
	void *address = NULL;
	int (*get)(const char *, void **, unsigned, unsigned long long, int *) =
		(int (*)(const char *, void **, unsigned, unsigned long long,
			int *))dlsym(library("libcudart.so.13"), "cudaGetDriverEntryPointByVersion");
	int status;

	return get(row->base, &address, (unsigned)row->since, row->is_per_thread ? PER_THREAD : 0,
			   &status)
		? NULL
		: address;
}

/*
 * Returns the newest form of a function that the runtime itself knows. NULL: `row` is another form.
 */
static void *by_entry_point12(const struct row *row)
{
	void *handle = library("libcudart.so.12"), *address = NULL;
	int (*version_of)(int *) = (int (*)(int *))dlsym(handle, "cudaRuntimeGetVersion");
	int (*get)(const char *, void **, unsigned long long, int *) = (int (*)(const char *, void **,
		unsigned long long, int *))dlsym(handle, "cudaGetDriverEntryPoint");
	int version = 0, status;

	if (version_of(&version) || row->since > version)
		return NULL;
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (strcmp(rows[i].base, row->base) == 0 && rows[i].is_per_thread == row->is_per_thread &&
			rows[i].since > row->since && rows[i].since <= version)
			return NULL;
	return get(row->base, &address, row->is_per_thread ? PER_THREAD : 0, &status) ? NULL : address;
}

static void *find(const char *route, const struct row *row)
{
	const char *name = row->is_driver ? "libcuda.so.1" : "libcudart.so.13";

	if (strcmp(route, "export") == 0)
		return row->linked;
	if (strcmp(route, "dlsym") == 0)
		return dlsym(library(name), row->symbol);
	/* The driver's names have no versions. */
	if (strcmp(route, "dlvsym") == 0)
		return row->is_driver ? NULL : dlvsym(library(name), row->symbol, "libcudart.so.13");
	if (strcmp(route, "handle") == 0)
		return dlsym(library(NULL), row->symbol);
	if (strcmp(route, "default") == 0)
		return dlsym(RTLD_DEFAULT, row->symbol);
	if (!row->is_driver)
		return NULL;
	if (strcmp(route, "proc_address") == 0)
		return by_proc_address(row);
	if (strcmp(route, "proc_address_v2") == 0)
		return by_proc_address_v2(row);
	return strcmp(route, "entry_point") == 0 ? by_entry_point(row) : by_entry_point12(row);
}

/*
 * --- the program
 * ----------------------------------------------------------------------------------
 */

static CUcontext make_context(void)
{
	CUcontext context = NULL;

	if (D(cuInit)(0) || D(cuDevicePrimaryCtxRetain)(&context, 0) || D(cuCtxSetCurrent)(context))
		exit(2);
	SAW(alloc, context, .api = "cuDevicePrimaryCtxRetain", .address = N(context),
		.size = CONTEXT_BYTES);
	return context;
}

static int is_asked(const char *symbol, int count, char **symbols)
{
	for (int i = 0; i < count; i++)
		if (strcmp(symbols[i], symbol) == 0)
			return 1;
	return count == 0;
}

int main(int argument_count, char **arguments)
{
	if (argument_count < 2)
		return 2;
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);

	CUcontext context = make_context();
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (!is_asked(rows[i].symbol, argument_count - 2, arguments + 2))
			continue;

		void *function = find(arguments[1], &rows[i]);
		current = rows[i].symbol;
#ifdef IS_STATIC
		current = rows[i].below;
#endif
		if (function)
			rows[i].snippet(function);
		else
			printf("none %s\n", current);
		printf("last %s %d\n", current, (int)cudaPeekAtLastError());
	}
	current = "end";
	OK(D(cuDevicePrimaryCtxReset_v2)(0));
	SAW(free, context, .api = "cuDevicePrimaryCtxReset_v2", .address = N(context));
	return failures != 0;
}

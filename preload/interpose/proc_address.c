/* SPDX-License-Identifier: MIT */
/*
 * Interposes cuGetProcAddress, by which every CUDA runtime since 11.3 finds the driver's functions.
 * The wrappers call the driver first. They replace only a successful answer, and only with the
 * wrapper of exactly that function. Interposes also cuInit, which shows that the program uses CUDA.
 */
#include <stddef.h>
#include <stdint.h>

#include "hooks/call_counts.h"
#include "hooks/hooks.h"
#include "interpose/driver_library.h"
#include "interpose/originals.h"
#include "interpose/unhooked.h"
#include "runtime/config.h"
#include "runtime/stages.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 3, FLAG_PER_THREAD_STREAM = 2 };

/*
 * Returns the wrapper of the function `answered`, or `answered` itself if it is not hooked.
 * Searches the hooks by address, which is right for every future version. If the driver does not
 * export the function, searches by name and version. A newer form of a hooked function may have an
 * exported name without a row. It stays as it is.
 */
static void *wrapper_or_self(const char *symbol, void *answered, int version, uint64_t flags)
{
	enum gmt_hook hook = gmt_driver_hook_at(answered);

	if (hook == GMT_HOOK_NONE && version >= 0) {
		hook = gmt_hook_by_base(symbol, (uint32_t)version,
			flags & FLAG_PER_THREAD_STREAM ? GMT_STREAM_MODE_PTDS : GMT_STREAM_MODE_LEGACY);
		if (hook != GMT_HOOK_NONE && gmt_driver_exports_unhooked(answered))
			hook = GMT_HOOK_NONE;
		if (hook != GMT_HOOK_NONE)
			gmt_original_store(hook, answered);
	}
	if (hook != GMT_HOOK_NONE)
		return gmt_hooks[hook].wrapper;

	/* A newer form of a hooked name may be exported under a name without a row. */
	if (gmt_unhooked_is_candidate(symbol)) {
		const char *exported = gmt_driver_export_name(answered);

		gmt_unhooked_add(exported ? exported : symbol, GMT_LOOKUP_ROUTE_PROC_ADDRESS);
	}
	return answered;
}

/* Replaces the driver's answer. `original` is the cuGetProcAddress that gave it. */
static void replace_answer(const char *symbol, void **address, int version, uint64_t flags,
	const void *original)
{
	if (!gmt_config.records_process)
		return;
	gmt_driver_library_open(original);
	GMT_RUN_STAGE(driver_reached);
	/* With success, the driver may return NULL: the function exists, but not on this system. */
	if (symbol && address && *address)
		*address = wrapper_or_self(symbol, *address, version, flags);
}

#define EXPORT(symbol) __attribute__((visibility("default"), alias("gmt_wrap_" #symbol)))

int gmt_wrap_cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags);
EXPORT(cuGetProcAddress)
int cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags);
int gmt_wrap_cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags)
{
	int (*original)(const char *, void **, int, uint64_t) = (int (*)(const char *, void **, int,
		uint64_t))gmt_original(GMT_HOOK_cuGetProcAddress, __builtin_return_address(0));

	if (!original)
		return NOT_INITIALIZED;

	gmt_call_counts_add_shared(GMT_HOOK_cuGetProcAddress);

	int result = original(symbol, address, version, flags);
	if (result == SUCCESS)
		replace_answer(symbol, address, version, flags, (const void *)original);
	return result;
}

int gmt_wrap_cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags,
	int *status);
EXPORT(cuGetProcAddress_v2)
int cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags,
	int *status);
int gmt_wrap_cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags,
	int *status)
{
	int (*original)(const char *, void **, int, uint64_t, int *) =
		(int (*)(const char *, void **, int, uint64_t,
			int *))gmt_original(GMT_HOOK_cuGetProcAddress_v2, __builtin_return_address(0));

	if (!original)
		return NOT_INITIALIZED;

	gmt_call_counts_add_shared(GMT_HOOK_cuGetProcAddress_v2);

	int result = original(symbol, address, version, flags, status);
	if (result == SUCCESS)
		replace_answer(symbol, address, version, flags, (const void *)original);
	return result;
}

int gmt_wrap_cuInit(unsigned flags);
EXPORT(cuInit) int cuInit(unsigned flags);
int gmt_wrap_cuInit(unsigned flags)
{
	int (*original)(unsigned) =
		(int (*)(unsigned))gmt_original(GMT_HOOK_cuInit, __builtin_return_address(0));

	if (!original)
		return NOT_INITIALIZED;

	gmt_call_counts_add_shared(GMT_HOOK_cuInit);

	int result = original(flags);
	if (result == SUCCESS) {
		gmt_driver_library_open((const void *)original);
		GMT_RUN_STAGE(driver_reached);
	}
	return result;
}

/* SPDX-License-Identifier: MIT */
/*
 * symbol-lookups [SHIM [RUNTIME]]: prints the results of look-ups of the driver's functions.
 *
 *   driver VERSION                   the result of cuDriverGetVersion
 *   export SYMBOL PLACE NAME         the result of dlsym in the driver
 *   ROUTE BASE VERSION FLAGS RESULT PLACE NAME
 *
 * ROUTE is proc_address, proc_address_v2, entry_point (cudaGetDriverEntryPoint) or
 * entry_point_by_version. The program looks up each base of hooks.def with the version of each of
 * its rows, with the version just below, and with the driver's own version, and with the flags 0, 1
 * and 2. VERSION is 0 for entry_point, which takes no version. PLACE: driver, shim, other, or none
 * if there is no address. NAME: the hooked export at exactly this address; else the loader's name;
 * else "-".
 *
 * SHIM: the recorder's file, "" without the recorder. RUNTIME: a libcudart to query as well. The
 * program needs no CUDA header.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hooks/hooks.h"

typedef int (*get_t)(const char *, void **, int, uint64_t);
typedef int (*get_v2_t)(const char *, void **, int, uint64_t, int *);
typedef int (*entry_t)(const char *, void **, unsigned long long, int *);
typedef int (*entry_by_version_t)(const char *, void **, unsigned, unsigned long long, int *);

/* The driver's rows, and the addresses that dlsym finds for them. */
static struct row {
	const char *symbol, *base;
	int since;
	void *exported, *wrapper;
} rows[] = {
#define IS_CUDA 1
#define IS_CUDART 0
#define IS_C10 0
#define GMT_HOOK_ANY(library, symbol, base, since, ...) \
	{ IS_##library ? #symbol : NULL, #base, since, NULL, NULL },
#include "hooks/hooks.def"
};

enum { ROW_COUNT = sizeof(rows) / sizeof(*rows) };

static get_t get;
static get_v2_t get_v2;
static entry_t entry;
static entry_by_version_t entry_by_version;

static const char *name_of(const void *address)
{
	Dl_info info;

	for (int i = 0; i < ROW_COUNT; i++)
		if (rows[i].symbol && (rows[i].exported == address || rows[i].wrapper == address))
			return rows[i].symbol;
	return dladdr(address, &info) && info.dli_sname && info.dli_saddr == address ? info.dli_sname
																				 : "-";
}

static const char *place_of(const void *address)
{
	Dl_info info;

	if (!address)
		return "none";
	if (!dladdr(address, &info) || !info.dli_fname)
		return "other";
	if (strstr(info.dli_fname, "libgpumemtrace"))
		return "shim";
	return strstr(info.dli_fname, "libcuda.so") ? "driver" : "other";
}

static void print_answer(const char *route, const char *base, int version, int flags, int result,
	const void *address)
{
	if (result)
		address = NULL;
	printf("%s %s %d %d %d %s %s\n", route, base, version, flags, result, place_of(address),
		address ? name_of(address) : "-");
}

static void look_up(const char *base, int version)
{
	for (int flags = 0; flags <= 2; flags++) {
		void *address = NULL;
		int status = 0, result;

		if (get) {
			result = get(base, &address, version, (uint64_t)flags);
			print_answer("proc_address", base, version, flags, result, address);
		}
		address = NULL;
		if (get_v2) {
			result = get_v2(base, &address, version, (uint64_t)flags, &status);
			print_answer("proc_address_v2", base, version, flags, result, address);
		}
		address = NULL;
		if (entry_by_version) {
			result = entry_by_version(base, &address, (unsigned)version, (unsigned long long)flags,
				&status);
			print_answer("entry_point_by_version", base, version, flags, result, address);
		}
	}
}

static void look_up_without_version(const char *base)
{
	for (int flags = 0; entry && flags <= 2; flags++) {
		void *address = NULL;
		int status = 0;
		int result = entry(base, &address, (unsigned long long)flags, &status);

		print_answer("entry_point", base, 0, flags, result, address);
	}
}

static int is_first_of_its_base(int row)
{
	for (int i = 0; i < row; i++)
		if (rows[i].symbol && strcmp(rows[i].base, rows[row].base) == 0)
			return 0;
	return 1;
}

int main(int argument_count, char **arguments)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *shim = NULL, *runtime = NULL;
	int version = 0;

	if (!driver) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	if (argument_count > 1 && arguments[1][0])
		shim = dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD);
	if (argument_count > 2)
		runtime = dlopen(arguments[2], RTLD_NOW);

	int (*start)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
	int (*get_version)(int *) = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
	int result = start ? start(0) : 3;
	if (result || !get_version || get_version(&version)) {
		fprintf(stderr, "cuInit: %d\n", result);
		return 2;
	}
	printf("driver %d\n", version);
	get = (get_t)dlsym(driver, "cuGetProcAddress");
	get_v2 = (get_v2_t)dlsym(driver, "cuGetProcAddress_v2");
	if (runtime) {
		entry = (entry_t)dlsym(runtime, "cudaGetDriverEntryPoint");
		entry_by_version = (entry_by_version_t)dlsym(runtime, "cudaGetDriverEntryPointByVersion");
	}

	for (int i = 0; i < ROW_COUNT; i++) {
		if (!rows[i].symbol)
			continue;
		rows[i].exported = dlsym(driver, rows[i].symbol);
		rows[i].wrapper = shim ? dlsym(shim, rows[i].symbol) : NULL;
	}
	for (int i = 0; i < ROW_COUNT; i++) {
		if (!rows[i].symbol)
			continue;
		printf("export %s %s %s\n", rows[i].symbol, place_of(rows[i].exported),
			rows[i].exported ? name_of(rows[i].exported) : "-");
		look_up(rows[i].base, rows[i].since - 1);
		look_up(rows[i].base, rows[i].since);
		if (is_first_of_its_base(i)) {
			look_up(rows[i].base, version);
			look_up_without_version(rows[i].base);
		}
	}
	return 0;
}

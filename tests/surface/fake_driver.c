/* SPDX-License-Identifier: MIT */
/*
 * A driver that has every name of NVIDIA's headers, with functions that do nothing: the tests only
 * compare the names that a real runtime requests. The test makes fake_driver.def from the headers:
 *
 *	ENTRY(symbol, base, since, per_thread)
 *
 * With EXACT_NAMES_ONLY there is no cuGetProcAddress, and a runtime falls back to dlsym. With
 * FAKE_DRIVER_HIDES in the environment, cuGetProcAddress answers with functions that are not
 * exported.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 3, NOT_FOUND = 500, FLAG_PER_THREAD = 2, VERSION = 13099 };

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	(void)flags;
	return SUCCESS;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	*version = VERSION;
	return SUCCESS;
}

/* There are no private tables of NVIDIA. The start of every runtime fails at this call. */
int cuGetExportTable(const void **table, const void *id);
int cuGetExportTable(const void **table, const void *id)
{
	(void)id;
	*table = NULL;
	return NOT_FOUND;
}

#define ENTRY(symbol, base, since, per_thread) \
	int symbol(void); \
	int symbol(void) \
	{ \
		return NOT_INITIALIZED; \
	} \
	static int hidden_##symbol(void) \
	{ \
		return NOT_INITIALIZED; \
	}
#include "fake_driver.def"
#undef ENTRY

#ifndef EXACT_NAMES_ONLY
int cuGetProcAddress(const char *name, void **address, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *status);
#endif

struct entry {
	const char *symbol, *base;
	int since;
	int per_thread;
	void *exported, *hidden;
};

#define ENTRY(symbol, base, since, per_thread) \
	{ #symbol, #base, since, per_thread, (void *)symbol, (void *)hidden_##symbol },
static const struct entry entries[] = {
	{ "cuInit", "cuInit", 2000, 0, (void *)cuInit, (void *)cuInit },
	{ "cuDriverGetVersion", "cuDriverGetVersion", 2020, 0, (void *)cuDriverGetVersion,
		(void *)cuDriverGetVersion },
	{ "cuGetExportTable", "cuGetExportTable", 3000, 0, (void *)cuGetExportTable,
		(void *)cuGetExportTable },
#ifndef EXACT_NAMES_ONLY
	{ "cuGetProcAddress", "cuGetProcAddress", 11030, 0, (void *)cuGetProcAddress,
		(void *)cuGetProcAddress },
	{ "cuGetProcAddress_v2", "cuGetProcAddress", 12000, 0, (void *)cuGetProcAddress_v2,
		(void *)cuGetProcAddress_v2 },
#endif
#include "fake_driver.def"
};
#undef ENTRY

#ifndef EXACT_NAMES_ONLY
static int find(const char *name, void **address, int version, uint64_t flags)
{
	const struct entry *best = NULL;
	int per_thread = (flags & FLAG_PER_THREAD) != 0;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct entry *entry = &entries[i];

		/* Runtimes request the base name, some also the exact name. */
		if (strcmp(entry->base, name) != 0 && strcmp(entry->symbol, name) != 0)
			continue;
		if (entry->since > version || (entry->per_thread && !per_thread))
			continue;
		if (!best || entry->since > best->since ||
			(entry->since == best->since && entry->per_thread == per_thread))
			best = entry;
	}
	*address = !best ? NULL : getenv("FAKE_DRIVER_HIDES") ? best->hidden : best->exported;
	return best ? SUCCESS : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **address, int version, uint64_t flags)
{
	return find(name, address, version, flags);
}

int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags, int *status)
{
	int result = find(name, address, version, flags);

	if (status)
		*status = result == SUCCESS ? 0 : 1;
	return result;
}
#endif

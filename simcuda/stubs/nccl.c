/* SPDX-License-Identifier: MIT */
/*
 * Communicators know their number of ranks and their own rank. No data is sent. Each rank gets its
 * own part back, as if all ranks had sent the same data. This is enough for programs that compare
 * what the ranks report about themselves.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

enum { SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, ID_BYTES = 128, VERSION = 22805 };

struct communicator {
	int count, rank;
};

/* The caller passes it by value. */
struct identity {
	char bytes[ID_BYTES];
};

/* Looks up driver functions, because the name of the runtime library is not always known. */
static void *driver_function(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	return driver ? dlsym(driver, name) : NULL;
}

/* Returns the bytes of `count` elements of a type, or 0 for an unknown type. */
static size_t size_of(size_t count, int type)
{
	static const unsigned char type_bytes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

	return type >= 0 && (size_t)type < sizeof(type_bytes) ? count * type_bytes[type] : 0;
}

static long copy(char *to, const char *from, size_t size_bytes, void *stream)
{
	int (*copy_async)(unsigned long long, unsigned long long, size_t, void *);

	if (to == from || !size_bytes)
		return 0;
	*(void **)&copy_async = driver_function("cuMemcpyDtoDAsync_v2");
	if (!copy_async ||
		copy_async((unsigned long long)to, (unsigned long long)from, size_bytes, stream))
		return SYSTEM_ERROR;
	return 0;
}

/* --- communicators ---------------------------------------------------------------------------- */

static long make(struct communicator **ret_communicator, int count, int rank)
{
	struct communicator *made = malloc(sizeof(*made));

	if (!made)
		return SYSTEM_ERROR;
	*made = (struct communicator){ count, rank };
	*ret_communicator = made;
	return 0;
}

long ncclGetVersion(int *ret_version)
{
	*ret_version = VERSION;
	return 0;
}

long ncclGetUniqueId(struct identity *ret_identity)
{
	memset(ret_identity, 0, sizeof(*ret_identity));
	return 0;
}

long ncclCommInitRank(struct communicator **ret_communicator, int count, struct identity identity,
	int rank)
{
	(void)identity;
	return make(ret_communicator, count, rank);
}

long ncclCommInitRankConfig(struct communicator **ret_communicator, int count,
	struct identity identity, int rank, void *settings)
{
	(void)identity, (void)settings;
	return make(ret_communicator, count, rank);
}

long ncclCommInitRankScalable(struct communicator **ret_communicator, int count, int rank,
	int identity_count, void *identities, void *settings)
{
	(void)identity_count, (void)identities, (void)settings;
	return make(ret_communicator, count, rank);
}

long ncclCommInitAll(struct communicator **ret_communicators, int count, const int *devices)
{
	(void)devices;
	for (int rank = 0; rank < count; rank++)
		if (make(&ret_communicators[rank], count, rank))
			return SYSTEM_ERROR;
	return 0;
}

/* The colors of other ranks are unknown. Assumes that all ranks have this color. */
long ncclCommSplit(struct communicator *from, int color, int key,
	struct communicator **ret_communicator, void *settings)
{
	(void)key, (void)settings;
	*ret_communicator = NULL;
	if (!from)
		return INVALID_ARGUMENT;
	return color < 0 ? 0 : make(ret_communicator, from->count, from->rank);
}

long ncclCommShrink(struct communicator *from, const int *left_out, int left_out_count,
	struct communicator **ret_communicator, void *settings, int flags)
{
	int before = 0;

	(void)settings, (void)flags;
	if (!from)
		return INVALID_ARGUMENT;
	for (int i = 0; i < left_out_count; i++)
		before += left_out[i] < from->rank;
	return make(ret_communicator, from->count - left_out_count, from->rank - before);
}

long ncclCommCount(const struct communicator *communicator, int *ret_count)
{
	*ret_count = communicator->count;
	return 0;
}

long ncclCommUserRank(const struct communicator *communicator, int *ret_rank)
{
	*ret_rank = communicator->rank;
	return 0;
}

long ncclCommCuDevice(const struct communicator *communicator, int *ret_device)
{
	int (*get_device)(int *);

	(void)communicator;
	*(void **)&get_device = driver_function("cuCtxGetDevice");
	return get_device && !get_device(ret_device) ? 0 : SYSTEM_ERROR;
}

long ncclCommGetAsyncError(const struct communicator *communicator, int *ret_error)
{
	(void)communicator;
	*ret_error = 0;
	return 0;
}

long ncclCommDestroy(struct communicator *communicator)
{
	free(communicator);
	return 0;
}

/* Ends the communicator, but keeps its memory: the caller may still ask for its error. */
long ncclCommAbort(struct communicator *communicator)
{
	(void)communicator;
	return 0;
}

/* --- memory ----------------------------------------------------------------------------------- */

long ncclMemAlloc(void **ret_address, size_t size_bytes)
{
	int (*allocate)(void **, size_t);

	*(void **)&allocate = driver_function("cuMemAlloc_v2");
	return allocate && !allocate(ret_address, size_bytes) ? 0 : SYSTEM_ERROR;
}

long ncclMemFree(void *address)
{
	int (*free_it)(unsigned long long);

	*(void **)&free_it = driver_function("cuMemFree_v2");
	return !address || (free_it && !free_it((unsigned long long)address)) ? 0 : SYSTEM_ERROR;
}

/* --- collectives ------------------------------------------------------------------------------ */

long ncclAllGather(const char *from, char *to, size_t count, int type,
	const struct communicator *communicator, void *stream)
{
	size_t slice_bytes = size_of(count, type);
	long error = 0;

	for (int rank = 0; rank < communicator->count && !error; rank++)
		error = copy(to + (size_t)rank * slice_bytes, from, slice_bytes, stream);
	return error;
}

long ncclAllReduce(const char *from, char *to, size_t count, int type, int operation,
	const struct communicator *communicator, void *stream)
{
	(void)operation, (void)communicator;
	return copy(to, from, size_of(count, type), stream);
}

long ncclReduceScatter(const char *from, char *to, size_t count, int type, int operation,
	const struct communicator *communicator, void *stream)
{
	size_t slice_bytes = size_of(count, type);

	(void)operation;
	return copy(to, from + (size_t)communicator->rank * slice_bytes, slice_bytes, stream);
}

long ncclReduce(const char *from, char *to, size_t count, int type, int operation, int root,
	const struct communicator *communicator, void *stream)
{
	(void)operation;
	return communicator->rank == root ? copy(to, from, size_of(count, type), stream) : 0;
}

long ncclBroadcast(const char *from, char *to, size_t count, int type, int root,
	const struct communicator *communicator, void *stream)
{
	return communicator->rank == root ? copy(to, from, size_of(count, type), stream) : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * An allocator for torch.cuda.memory.CUDAPluggableAllocator. It also allocates memory for
 * itself.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

static void *driver(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

EXPORT void *own_malloc(ssize_t size, int device, void *stream)
{
	int (*get)(unsigned long long *, size_t) =
		(int (*)(unsigned long long *, size_t))driver("cuMemAlloc_v2");
	unsigned long long address = 0;

	(void)device;
	(void)stream;
	return get(&address, (size_t)size) ? NULL : (void *)address;
}

EXPORT void own_free(void *block, ssize_t size, int device, void *stream)
{
	int (*put_back)(unsigned long long) = (int (*)(unsigned long long))driver("cuMemFree_v2");

	(void)size;
	(void)device;
	(void)stream;
	put_back((unsigned long long)block);
}

/*
 * An allocator that can release its memory and map it again at the same addresses, like
 * programs that lend the device to others for a while.
 */
enum { MAPPINGS = 16, PINNED = 1, ON_DEVICE = 1 };

static const size_t unit = 2 << 20;

static struct {
	unsigned long long address, handle;
	size_t size;
	int device;
} mappings[MAPPINGS];

/* CUmemAllocationProp */
struct properties {
	int type, handle_types, location_type, device;
	void *meta;
	unsigned char flags[8];
};

static int wake(int i)
{
	int (*create)(unsigned long long *, size_t, const struct properties *, unsigned long long) =
		(int (*)(unsigned long long *, size_t, const struct properties *,
			unsigned long long))driver("cuMemCreate");
	int (*map)(unsigned long long, size_t, size_t, unsigned long long, unsigned long long) =
		(int (*)(unsigned long long, size_t, size_t, unsigned long long,
			unsigned long long))driver("cuMemMap");
	const struct properties properties = {
		.type = PINNED,
		.location_type = ON_DEVICE,
		.device = mappings[i].device,
	};

	return create(&mappings[i].handle, mappings[i].size, &properties, 0) ||
		map(mappings[i].address, mappings[i].size, 0, mappings[i].handle, 0);
}

static int doze(int i)
{
	int (*unmap)(unsigned long long, size_t) =
		(int (*)(unsigned long long, size_t))driver("cuMemUnmap");
	int (*release)(unsigned long long) = (int (*)(unsigned long long))driver("cuMemRelease");

	return unmap(mappings[i].address, mappings[i].size) || release(mappings[i].handle);
}

/* Releases the memory of all blocks. Returns 0 on success. */
EXPORT int sleep_all(void)
{
	int failed = 0;

	for (int i = 0; i < MAPPINGS; i++)
		failed |= mappings[i].size && doze(i);
	return failed;
}

EXPORT int wake_all(void)
{
	int failed = 0;

	for (int i = 0; i < MAPPINGS; i++)
		failed |= mappings[i].size && wake(i);
	return failed;
}

EXPORT void *mapped_malloc(ssize_t size, int device, void *stream)
{
	int (*reserve)(unsigned long long *, size_t, size_t, unsigned long long, unsigned long long) =
		(int (*)(unsigned long long *, size_t, size_t, unsigned long long,
			unsigned long long))driver("cuMemAddressReserve");
	int i = 0;

	(void)stream;
	while (i < MAPPINGS && mappings[i].size)
		i++;
	if (i == MAPPINGS)
		return NULL;
	mappings[i].size = ((size_t)size + unit - 1) / unit * unit;
	mappings[i].device = device;
	if (reserve(&mappings[i].address, mappings[i].size, 0, 0, 0) || wake(i))
		return NULL;
	return (void *)mappings[i].address;
}

EXPORT void mapped_free(void *block, ssize_t size, int device, void *stream)
{
	int (*unreserve)(unsigned long long, size_t) =
		(int (*)(unsigned long long, size_t))driver("cuMemAddressFree");

	(void)size;
	(void)device;
	(void)stream;
	for (int i = 0; i < MAPPINGS; i++) {
		if (!mappings[i].size || mappings[i].address != (unsigned long long)block)
			continue;
		doze(i);
		unreserve(mappings[i].address, mappings[i].size);
		mappings[i].size = 0;
	}
}

/* Allocates with the runtime in the file `runtime`. */
EXPORT int get_memory(const char *runtime, size_t size)
{
	int (*get)(void **, size_t) =
		(int (*)(void **, size_t))dlsym(dlopen(runtime, RTLD_NOW), "cudaMalloc");
	void *block = NULL;

	return get(&block, size) || !block;
}

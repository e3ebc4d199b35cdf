/* SPDX-License-Identifier: MIT */
/* Actions on physical memory, reserved addresses, and multicast objects. */
#include <unistd.h>

#include "random_calls.h"

static CUmemAllocationProp properties_of(struct worker *worker, bool is_exportable)
{
	CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)draw(worker, DEVICES) },
		.requestedHandleTypes = is_exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
	};

	if (one_in(worker, 3))
		properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
	if (!is_exportable && one_in(worker, 4))
		properties.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0 };
	return properties;
}

ACTION(12, create_physical)
{
	struct resource memory = { .size_bytes = draw_units(worker), .other = one_in(worker, 3) };
	CUmemAllocationProp properties = properties_of(worker, memory.other);

	if (!bag_has_space(PHYSICAL))
		return release_physical(worker);
	memory.device =
		properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? properties.location.id : -1;
	if (CALL(worker, cuMemCreate(&memory.address, memory.size_bytes, &properties, 0)))
		put(PHYSICAL, &memory);
}

/* Releases a handle, mapped or not. Mappings keep the memory alive. */
ACTION(10, release_physical)
{
	struct resource memory;

	if (take(worker, PHYSICAL, &memory))
		CALL(worker, cuMemRelease(memory.address));
}

ACTION(8, reserve_range)
{
	struct resource range = { .size_bytes = 4 * draw_units(worker) };

	if (!bag_has_space(RANGE))
		return free_range(worker);
	if (CALL(worker, cuMemAddressReserve(&range.address, range.size_bytes, 0, 0, 0)))
		put(RANGE, &range);
}

/* Maps memory after the mapped part of a range, so that one unmapping may end several mappings. */
ACTION(14, map_range)
{
	struct resource range, memory;
	bool releases = one_in(worker, 3);

	if (!take(worker, RANGE, &range))
		return reserve_range(worker);
	if (take(worker, PHYSICAL, &memory)) {
		size_t size_bytes = one_in(worker, 4) ? UNIT_BYTES : memory.size_bytes;

		if (CALL(worker, cuMemMap(range.address + range.other, size_bytes, 0, memory.address, 0)))
			range.other += size_bytes;
		if (releases)
			CALL(worker, cuMemRelease(memory.address));
		else
			put(PHYSICAL, &memory);
	}
	put(RANGE, &range);
}

/* Unmaps a range or a part of it. The driver refuses a part that ends inside a mapping. */
ACTION(12, unmap_range)
{
	struct resource range;
	size_t units;

	if (!take(worker, RANGE, &range))
		return;
	units = range.other / UNIT_BYTES;
	if (one_in(worker, 4) && units > 1) {
		size_t kept = draw(worker, units) * UNIT_BYTES;

		if (CALL(worker, cuMemUnmap(range.address + kept, range.other - kept)))
			range.other = kept;
	} else if (CALL(worker, cuMemUnmap(range.address, range.other))) {
		range.other = 0;
	}
	put(RANGE, &range);
}

/* Frees a range. The driver refuses while memory is mapped in it. */
ACTION(6, free_range)
{
	struct resource range;

	if (take(worker, RANGE, &range) &&
		!CALL(worker, cuMemAddressFree(range.address, range.size_bytes)))
		put(RANGE, &range);
}

/* Takes another reference to a handle, which must be released too. */
ACTION(5, retain_handle)
{
	struct resource range, memory = { 0 };
	uint64_t at;

	if (!bag_has_space(PHYSICAL))
		return release_physical(worker);
	if (!take(worker, RANGE, &range))
		return;
	at = range.other ? draw(worker, range.other) : 0;
	if (CALL(worker, cuMemRetainAllocationHandle(&memory.address, (void *)(range.address + at)))) {
		/* The smallest possible size, because no call returns the size. */
		memory.size_bytes = UNIT_BYTES;
		put(PHYSICAL, &memory);
	}
	put(RANGE, &range);
}

ACTION(3, export_physical)
{
	struct resource memory;
	int file;

	if (!bag_has_space(EXPORTED))
		return close_exported(worker);
	if (!take(worker, PHYSICAL, &memory))
		return;
	if (CALL(worker,
			cuMemExportToShareableHandle(&file, memory.address,
				CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)))
		put(EXPORTED, &(struct resource){ .other = (uint64_t)file });
	put(PHYSICAL, &memory);
}

ACTION(3, close_exported)
{
	struct resource exported;

	(void)worker;
	if (take(worker, EXPORTED, &exported))
		close((int)exported.other);
}

/* Imports memory that this process exported and still holds. */
ACTION(2, import_own)
{
	struct resource memory;
	CUmemGenericAllocationHandle handle;
	int file;

	if (!bag_has_space(PHYSICAL) || !take(worker, PHYSICAL, &memory))
		return;
	if (CALL(worker,
			cuMemExportToShareableHandle(&file, memory.address,
				CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))) {
		if (CALL(worker,
				cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file,
					CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)))
			put(PHYSICAL,
				&(struct resource){
					.address = handle, .size_bytes = memory.size_bytes, .other = 1 });
		close(file);
	}
	put(PHYSICAL, &memory);
}

ACTION(4, import_of_other_process)
{
	uint64_t number = draw(worker, SHARED_COUNT);
	struct resource memory = { .size_bytes = other_process.memory_bytes[number] };

	if (!bag_has_space(PHYSICAL))
		return release_physical(worker);
	if (CALL(worker,
			cuMemImportFromShareableHandle(&memory.address,
				(void *)(intptr_t)other_process.memory_files[number],
				CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)))
		put(PHYSICAL, &memory);
}

/*
 * --- multicast
 * ------------------------------------------------------------------------------------
 */

ACTION(5, create_multicast)
{
	CUmulticastObjectProp properties = { .numDevices = 1 + (unsigned)draw(worker, 2),
		.size = 2 * draw_units(worker) };
	struct resource object = { .size_bytes = properties.size };

	if (!bag_has_space(MULTICAST))
		return release_multicast(worker);
	if (!CALL(worker, cuMulticastCreate(&object.address, &properties)))
		return;
	CALL(worker, cuMulticastAddDevice(object.address, 0));
	if (properties.numDevices == 2)
		CALL(worker, cuMulticastAddDevice(object.address, 1));
	put(MULTICAST, &object);
}

ACTION(5, release_multicast)
{
	struct resource object;

	if (take(worker, MULTICAST, &object))
		CALL(worker, cuMemRelease(object.address));
}

static void bind(struct worker *worker, const struct resource *object, uint64_t offset)
{
	struct resource memory, range;

	if (one_in(worker, 3)) {
		if (!take(worker, RANGE, &range))
			return;
		if (one_in(worker, 2))
			CALL(worker,
				cuMulticastBindAddr(object->address, offset, range.address, UNIT_BYTES, 0));
		else
			CALL(worker,
				cuMulticastBindAddr_v2(object->address, (int)draw(worker, DEVICES), offset,
					range.address, UNIT_BYTES, 0));
		put(RANGE, &range);
	} else if (take(worker, PHYSICAL, &memory)) {
		if (one_in(worker, 2))
			CALL(worker,
				cuMulticastBindMem(object->address, offset, memory.address, 0, UNIT_BYTES, 0));
		else
			CALL(worker,
				cuMulticastBindMem_v2(object->address, (int)draw(worker, DEVICES), offset,
					memory.address, 0, UNIT_BYTES, 0));
		put(PHYSICAL, &memory);
	}
}

ACTION(6, bind_multicast)
{
	struct resource object, range;
	uint64_t offset;

	if (!take(worker, MULTICAST, &object))
		return create_multicast(worker);
	offset = draw(worker, object.size_bytes / UNIT_BYTES) * UNIT_BYTES;
	/* Sometimes maps the object itself, in the same way as memory. */
	if (one_in(worker, 5) && take(worker, RANGE, &range)) {
		if (CALL(worker,
				cuMemMap(range.address + range.other, UNIT_BYTES, offset, object.address, 0)))
			range.other += UNIT_BYTES;
		put(RANGE, &range);
	} else {
		bind(worker, &object, offset);
	}
	put(MULTICAST, &object);
}

ACTION(5, unbind_multicast)
{
	struct resource object;

	if (!take(worker, MULTICAST, &object))
		return;
	CALL(worker,
		cuMulticastUnbind(object.address, (int)draw(worker, DEVICES),
			draw(worker, object.size_bytes / UNIT_BYTES) * UNIT_BYTES, UNIT_BYTES));
	put(MULTICAST, &object);
}

/*
 * --- invalid calls
 * --------------------------------------------------------------------------------
 */

ACTION(5, invalid_physical_calls)
{
	CUmemAllocationProp properties = properties_of(worker, false);
	struct resource memory = { 0 };
	CUmemGenericAllocationHandle handle;

	switch (draw(worker, 9)) {
	case 0:
		CALL(worker, cuMemCreate(NULL, UNIT_BYTES, &properties, 0));
		break;
	case 1:
		CALL(worker, cuMemCreate(&handle, draw_wrong_size(worker) | 1, &properties, 0));
		break;
	case 2:
		CALL(worker, cuMemCreate(&handle, (size_t)1 << 45, &properties, 0));
		break;
	case 3:
		CALL(worker, cuMemRelease((uintptr_t)worker));
		break;
	case 4:
		CALL(worker, cuMemMap(UNIT_BYTES, UNIT_BYTES, 0, (uintptr_t)worker, 0));
		break;
	case 5:
		CALL(worker, cuMemUnmap(UNIT_BYTES, draw_wrong_size(worker)));
		break;
	case 6:
		CALL(worker, cuMemAddressReserve(&handle, draw_wrong_size(worker), 0, 0, 0));
		break;
	case 7:
		CALL(worker, cuMemRetainAllocationHandle(&handle, &handle));
		break;
	case 8:
		/* Maps a handle after its release. Under the exclusive lock no other thread gets it. */
		lock_exclusively(worker);
		if (take(worker, PHYSICAL, &memory)) {
			CALL(worker, cuMemRelease(memory.address));
			CALL(worker, cuMemMap(UNIT_BYTES, UNIT_BYTES, 0, memory.address, 0));
		}
		break;
	}
}

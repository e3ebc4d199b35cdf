/* SPDX-License-Identifier: MIT */
#include "code/code.h"

#include <stdlib.h>
#include <string.h>

/*
 * cuGetProcAddress: finds the function of a name. A name without suffix, such as "cuMemAlloc",
 * stands for several ABI forms. Each form exists since one CUDA version. The answer is the newest
 * form that the requested version knows. If the caller asks for the per-thread-stream form and it
 * exists, the answer is that form.
 */

struct entry {
	const char *symbol;
	const char *name;
	int version;
	bool is_per_thread;
	void (*address)(void);
};

/* Casts through a function type without parameters, because only the address matters here. */
#define ENTRY(symbol, name, version, stream) \
	{ #symbol, #name, version, STREAM_##stream, (void (*)(void))symbol },
#define STREAM_LEGACY false
#define STREAM_PER_THREAD true
static const struct entry entries[] = {
#include "functions.def"
#include "unsupported.def"
};
#undef ENTRY

static CUresult find(const char *name, int version, cuuint64_t flags, void **ret_address,
	CUdriverProcAddressQueryResult *ret_status)
{
	const struct entry *legacy = NULL, *per_thread = NULL;
	bool is_known = false;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const struct entry *entry = &entries[i];
		if (strcmp(entry->name, name) != 0)
			continue;
		is_known = true;
		if (entry->version > version)
			continue;
		const struct entry **best = entry->is_per_thread ? &per_thread : &legacy;
		if (!*best || entry->version > (*best)->version)
			*best = entry;
	}

	const struct entry *found =
		(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) && per_thread ? per_thread : legacy;
	*ret_address = NULL;
	if (!found) {
		*ret_status = is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
							   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
		return CUDA_ERROR_NOT_FOUND;
	}
	memcpy(ret_address, &found->address, sizeof(found->address));
	*ret_status = CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **ret_address, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status;

	sim_driver_setup();
	if (!symbol || !ret_address || version > sim_driver.version ||
		flags > (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
		return CUDA_ERROR_INVALID_VALUE;
	/* The runtime first asks for an empty name, with version 0 and a NULL status. */
	CUresult result = find(symbol, version, flags, ret_address, &status);
	if (ret_status)
		*ret_status = status;
	return result;
}

CUresult cuGetProcAddress(const char *symbol, void **ret_address, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, ret_address, version, flags, NULL);
}

/*
 * NVIDIA's runtime and tools use private tables of the driver. This driver has only one private
 * table, for the simulated runtime.
 */
CUresult cuGetExportTable(const void **ret_table, const CUuuid *id)
{
	if (!ret_table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	bool is_known = memcmp(id, &sim_runtime_interface_id, sizeof(*id)) == 0;
	*ret_table = is_known ? &sim_runtime_interface : NULL;
	return is_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../driver/device_identity.h"
#include "../driver/settings.h"

/*
 * libnvidia-ml.so.1, the management library. PyTorch and monitors query it about the simulated
 * devices. The process need not use CUDA. The used memory of a device is the sum of two numbers.
 * The first is what the simulated driver reports, or 0 if the driver is not loaded. The second is
 * what the settings give to other processes. The library knows two processes: its own and one other
 * process, which uses the second amount. Other real processes are unknown, because each process has
 * its own simulated devices.
 *
 * Few toolkits contain NVIDIA's header of this library, so this file declares what it needs.
 */

enum result {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
};

/* The process that uses the memory of others: an id that Linux never assigns. */
enum { OTHER_PROCESS_ID = (1 << 22) + 1 };

struct memory {
	unsigned long long total_bytes, free_bytes, used_bytes;
};

struct memory_v2 {
	unsigned int version;
	unsigned long long total_bytes, reserved_bytes, free_bytes, used_bytes;
};

struct process {
	unsigned int process_id;
	unsigned long long used_bytes;
};

struct process_v2 {
	unsigned int process_id;
	unsigned long long used_bytes;
	unsigned int gpu_instance, compute_instance;
};

/* A handle is the address of one of these bytes. The index of the byte is the device's ordinal. */
typedef char *device_handle;
static char handles[SIM_MAX_DEVICES];

static unsigned int initializations;

#define EXPORT(type, symbol, parameters) \
	__attribute__((visibility("default"))) type symbol parameters; \
	type symbol parameters

static struct sim_settings settings(void)
{
	struct sim_settings settings;

	sim_settings_read(&settings);
	return settings;
}

static enum result check(device_handle device, const void *output, int *ret_ordinal)
{
	ptrdiff_t ordinal = device - handles;

	if (initializations == 0)
		return NVML_ERROR_UNINITIALIZED;
	if (!output || ordinal < 0 || ordinal >= settings().device_count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_ordinal = (int)ordinal;
	return NVML_SUCCESS;
}

/* Returns the bytes of the device that this process uses. */
static unsigned long long own_bytes(int ordinal)
{
	size_t (*query)(int);

	/*
	 * Only checks whether the driver is loaded: a query about a device must not load CUDA into a
	 * process.
	 */
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *address = driver ? dlsym(driver, "simcuda_used_bytes") : NULL;
	unsigned long long used = 0;
	if (address) {
		memcpy(&query, &address, sizeof(query));
		used = query(ordinal);
	}
	if (driver)
		dlclose(driver);
	return used;
}

/* --- the library ------------------------------------------------------------------------------ */

EXPORT(enum result, nvmlInit_v2, (void))
{
	initializations++;
	return NVML_SUCCESS;
}

EXPORT(enum result, nvmlInit, (void))
{
	return nvmlInit_v2();
}

EXPORT(enum result, nvmlInitWithFlags, (unsigned int flags))
{
	(void)flags;
	return nvmlInit_v2();
}

EXPORT(enum result, nvmlShutdown, (void))
{
	if (initializations == 0)
		return NVML_ERROR_UNINITIALIZED;
	initializations--;
	return NVML_SUCCESS;
}

EXPORT(const char *, nvmlErrorString, (enum result result))
{
	switch (result) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
		return "Argument Version Mismatch";
	}
	return "Unknown Error";
}

EXPORT(enum result, nvmlSystemGetCudaDriverVersion_v2, (int *ret_version))
{
	if (!ret_version)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_version = settings().driver_version;
	return NVML_SUCCESS;
}

EXPORT(enum result, nvmlSystemGetCudaDriverVersion, (int *ret_version))
{
	return nvmlSystemGetCudaDriverVersion_v2(ret_version);
}

EXPORT(enum result, nvmlSystemGetDriverVersion, (char *ret_text, unsigned int size_bytes))
{
	if (!ret_text)
		return NVML_ERROR_INVALID_ARGUMENT;
	int length = snprintf(ret_text, size_bytes, "simulated");
	return (unsigned int)length < size_bytes ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

/* --- handles ---------------------------------------------------------------------------------- */

EXPORT(enum result, nvmlDeviceGetCount_v2, (unsigned int *ret_count))
{
	if (initializations == 0)
		return NVML_ERROR_UNINITIALIZED;
	if (!ret_count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_count = (unsigned int)settings().device_count;
	return NVML_SUCCESS;
}

EXPORT(enum result, nvmlDeviceGetCount, (unsigned int *ret_count))
{
	return nvmlDeviceGetCount_v2(ret_count);
}

EXPORT(enum result, nvmlDeviceGetHandleByIndex_v2, (unsigned int index, device_handle *ret_device))
{
	int ordinal;

	if (index >= SIM_MAX_DEVICES)
		return NVML_ERROR_INVALID_ARGUMENT;
	enum result result = check(&handles[index], ret_device, &ordinal);
	if (result == NVML_SUCCESS)
		*ret_device = &handles[index];
	return result;
}

EXPORT(enum result, nvmlDeviceGetHandleByIndex, (unsigned int index, device_handle *ret_device))
{
	return nvmlDeviceGetHandleByIndex_v2(index, ret_device);
}

EXPORT(enum result, nvmlDeviceGetHandleByPciBusId_v2, (const char *text, device_handle *ret_device))
{
	unsigned int domain, bus, slot;

	if (!text || sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (domain != 0 || slot != 0 || bus == 0)
		return NVML_ERROR_NOT_FOUND;
	return nvmlDeviceGetHandleByIndex_v2(bus - 1, ret_device);
}

EXPORT(enum result, nvmlDeviceGetHandleByPciBusId, (const char *text, device_handle *ret_device))
{
	return nvmlDeviceGetHandleByPciBusId_v2(text, ret_device);
}

static void uuid_text(int ordinal, char (*ret_text)[48])
{
	unsigned char bytes[SIM_UUID_BYTES];
	char *end = *ret_text;

	sim_uuid(ordinal, bytes);
	end += snprintf(end, sizeof(*ret_text), "GPU-");
	for (int i = 0; i < SIM_UUID_BYTES; i++) {
		bool is_group_start = i == 4 || i == 6 || i == 8 || i == 10;
		end += snprintf(end, 4, "%s%02x", is_group_start ? "-" : "", bytes[i]);
	}
}

EXPORT(enum result, nvmlDeviceGetHandleByUUID, (const char *text, device_handle *ret_device))
{
	char known[48];

	for (int ordinal = 0; text && ordinal < settings().device_count; ordinal++) {
		uuid_text(ordinal, &known);
		if (strcmp(known, text) == 0)
			return nvmlDeviceGetHandleByIndex_v2((unsigned int)ordinal, ret_device);
	}
	return text ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
}

/* --- properties of a device ------------------------------------------------------------------- */

EXPORT(enum result, nvmlDeviceGetIndex, (device_handle device, unsigned int *ret_index))
{
	int ordinal;
	enum result result = check(device, ret_index, &ordinal);

	if (result == NVML_SUCCESS)
		*ret_index = (unsigned int)ordinal;
	return result;
}

EXPORT(enum result, nvmlDeviceGetName,
	(device_handle device, char *ret_name, unsigned int size_bytes))
{
	int ordinal;
	enum result result = check(device, ret_name, &ordinal);

	if (result != NVML_SUCCESS)
		return result;
	int length = snprintf(ret_name, size_bytes, "%s", SIM_DEVICE_NAME);
	return (unsigned int)length < size_bytes ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

EXPORT(enum result, nvmlDeviceGetUUID,
	(device_handle device, char *ret_text, unsigned int size_bytes))
{
	char text[48];
	int ordinal;
	enum result result = check(device, ret_text, &ordinal);

	if (result != NVML_SUCCESS)
		return result;
	uuid_text(ordinal, &text);
	int length = snprintf(ret_text, size_bytes, "%s", text);
	return (unsigned int)length < size_bytes ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

EXPORT(enum result, nvmlDeviceGetMemoryInfo, (device_handle device, struct memory *ret_memory))
{
	int ordinal;
	enum result result = check(device, ret_memory, &ordinal);

	if (result == NVML_SUCCESS) {
		ret_memory->total_bytes = settings().capacity_bytes;
		ret_memory->used_bytes = settings().others_bytes + own_bytes(ordinal);
		ret_memory->free_bytes = ret_memory->total_bytes - ret_memory->used_bytes;
	}
	return result;
}

EXPORT(enum result, nvmlDeviceGetMemoryInfo_v2,
	(device_handle device, struct memory_v2 *ret_memory))
{
	struct memory memory;

	if (ret_memory && ret_memory->version != (sizeof(*ret_memory) | 2u << 24))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	enum result result =
		ret_memory ? nvmlDeviceGetMemoryInfo(device, &memory) : NVML_ERROR_INVALID_ARGUMENT;
	if (result == NVML_SUCCESS) {
		ret_memory->total_bytes = memory.total_bytes;
		ret_memory->reserved_bytes = 0;
		ret_memory->free_bytes = memory.free_bytes;
		ret_memory->used_bytes = memory.used_bytes;
	}
	return result;
}

EXPORT(enum result, nvmlDeviceGetP2PStatus,
	(device_handle device, device_handle peer, unsigned int capability, int *ret_status))
{
	int ordinal;
	enum result result = check(device, ret_status, &ordinal);

	(void)capability;
	if (result == NVML_SUCCESS)
		result = check(peer, ret_status, &ordinal);
	if (result == NVML_SUCCESS)
		*ret_status = 0;
	return result;
}

/* The device belongs to no fabric. The fields that the caller has set to zero stay zero. */
EXPORT(enum result, nvmlDeviceGetGpuFabricInfoV, (device_handle device, void *ret_info))
{
	int ordinal;

	return check(device, ret_info, &ordinal);
}

/* --- processes -------------------------------------------------------------------------------- */

/*
 * Gets the processes that use the device. The other process comes first, so that callers must
 * search for their own. On entry, `*count` is the capacity; on return, it is the number of
 * processes.
 */
static enum result find_processes(device_handle device, unsigned int *count,
	struct process (*ret_processes)[2])
{
	int ordinal;
	enum result result = check(device, count, &ordinal);

	if (result != NVML_SUCCESS)
		return result;
	struct sim_settings machine = settings();
	unsigned int capacity = *count, found = 0;
	if (machine.others_bytes > 0)
		(*ret_processes)[found++] = (struct process){ OTHER_PROCESS_ID, machine.others_bytes };
	unsigned long long used_bytes = own_bytes(ordinal);
	if (used_bytes > 0) {
		int id = machine.process_id ? machine.process_id : getpid();
		(*ret_processes)[found++] = (struct process){ (unsigned int)id, used_bytes };
	}
	*count = found;
	return found > capacity ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

EXPORT(enum result, nvmlDeviceGetComputeRunningProcesses,
	(device_handle device, unsigned int *count, struct process *ret_processes))
{
	struct process processes[2];
	enum result result = find_processes(device, count, &processes);

	for (unsigned int i = 0; result == NVML_SUCCESS && i < *count; i++)
		ret_processes[i] = processes[i];
	return result;
}

EXPORT(enum result, nvmlDeviceGetComputeRunningProcesses_v2,
	(device_handle device, unsigned int *count, struct process_v2 *ret_processes))
{
	struct process processes[2];
	enum result result = find_processes(device, count, &processes);

	/* All bits set: the device is not split into instances. */
	for (unsigned int i = 0; result == NVML_SUCCESS && i < *count; i++)
		ret_processes[i] =
			(struct process_v2){ processes[i].process_id, processes[i].used_bytes, ~0u, ~0u };
	return result;
}

EXPORT(enum result, nvmlDeviceGetComputeRunningProcesses_v3,
	(device_handle device, unsigned int *count, struct process_v2 *ret_processes))
{
	return nvmlDeviceGetComputeRunningProcesses_v2(device, count, ret_processes);
}

/* --- features that simulated devices lack ----------------------------------------------------- */

#define UNSUPPORTED(symbol) \
	EXPORT(enum result, symbol, (void)) \
	{ \
		return NVML_ERROR_NOT_SUPPORTED; \
	}
UNSUPPORTED(nvmlDeviceGetNvLinkRemoteDeviceType)
UNSUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2)
UNSUPPORTED(nvmlDeviceGetNvLinkState)
UNSUPPORTED(nvmlDeviceGetPowerUsage)
UNSUPPORTED(nvmlDeviceGetTemperature)
UNSUPPORTED(nvmlDeviceGetClockInfo)
UNSUPPORTED(nvmlDeviceGetUtilizationRates)
UNSUPPORTED(nvmlDeviceGetGraphicsRunningProcesses)
UNSUPPORTED(nvmlDeviceGetGraphicsRunningProcesses_v3)
UNSUPPORTED(nvmlDeviceGetMigMode)
#undef UNSUPPORTED

/* SPDX-License-Identifier: MIT */
#include "driver/nvml.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime/bounded_wait.h"
#include "interpose/dlerror.h"
#include "driver/driver_queries.h"
#include "interpose/originals.h"
#include "format/format.h"
#include "runtime/stages.h"

/*
 * NVML's types in plain C, because few toolkits include its header. Functions return 0 for success.
 */
struct memory {
	unsigned long long total_bytes, free_bytes, used_bytes;
};

struct memory_v2 {
	unsigned version;
	unsigned long long total_bytes, reserved_bytes, free_bytes, used_bytes;
};

struct process {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

typedef int list_function(void *device, unsigned *count, struct process *processes);

enum {
	MEMORY_V2 = sizeof(struct memory_v2) | 2 << 24,
	DEVICES = 64,
	PROCESSES = 256, /* of one list; if there are more, the list is not trusted */
	LISTS = 3,
	HOLD_WAIT_NS = 500000000,
	/* How long a second thread waits for the first thread that opens the library */
	OPEN_WAIT_NS = 2000000000,
};

static const unsigned long long NOT_AVAILABLE = ~0ull;

static struct {
	int (*init)(void);
	int (*by_uuid)(const char *, void **);
	int (*by_pci_bus_id)(const char *, void **);
	int (*memory)(void *, struct memory *);
	int (*memory_v2)(void *, struct memory_v2 *);
	list_function *lists[LISTS];
} api; /* NULL: the library lacks the function */

static enum { UNKNOWN, ABSENT, PRESENT } library;
static struct {
	bool was_looked_up;
	void *handle;
} devices[DEVICES];
static struct {
	bool pids_are_foreign;
	struct process processes[PROCESSES]; /* of one device, without duplicates */
	struct process listed[PROCESSES];    /* one list of NVML; a process may be in several */
	/* A thread that opens the library, or that forks, holds this flag. */
	atomic_flag open_lock;
	_Atomic bool is_stuck; /* a fork has waited in vain: later forks do not wait */
} nvml = { .open_lock = ATOMIC_FLAG_INIT };

static __thread bool is_held_by_this_fork __attribute__((tls_model("initial-exec")));

static void find_functions(void *handle)
{
	/* Newer forms come last. Both forms of the lists have the same structure and meaning. */
	const struct {
		void *to;
		const char *symbol;
	} functions[] = {
		{ &api.init, "nvmlInit_v2" },
		{ &api.by_uuid, "nvmlDeviceGetHandleByUUID" },
		{ &api.by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2" },
		{ &api.memory, "nvmlDeviceGetMemoryInfo" },
		{ &api.memory_v2, "nvmlDeviceGetMemoryInfo_v2" },
		{ &api.lists[0], "nvmlDeviceGetComputeRunningProcesses_v2" },
		{ &api.lists[0], "nvmlDeviceGetComputeRunningProcesses_v3" },
		{ &api.lists[1], "nvmlDeviceGetGraphicsRunningProcesses_v2" },
		{ &api.lists[1], "nvmlDeviceGetGraphicsRunningProcesses_v3" },
		{ &api.lists[2], "nvmlDeviceGetMPSComputeRunningProcesses_v2" },
		{ &api.lists[2], "nvmlDeviceGetMPSComputeRunningProcesses_v3" },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = gmt_original_dlsym(handle, functions[i].symbol);

		if (found)
			*(void **)functions[i].to = found;
	}
}

static bool open_library(void)
{
	bool is_held = gmt_dlerror_hold();
	void *handle = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);

	gmt_dlerror_release(is_held);
	if (!handle)
		return false;
	find_functions(handle);
	/* Never shut down: the program may use NVML too, and NVML counts its users. */
	return api.init && api.by_uuid && api.memory && !api.init();
}

bool gmt_nvml_open(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(OPEN_WAIT_NS);

	if (library != UNKNOWN)
		return library == PRESENT;
	while (atomic_flag_test_and_set_explicit(&nvml.open_lock, memory_order_acquire))
		if (!gmt_bounded_wait_rest(&wait))
			return false;
	library = open_library() ? PRESENT : ABSENT;
	atomic_store_explicit(&nvml.is_stuck, false, memory_order_relaxed);
	atomic_flag_clear_explicit(&nvml.open_lock, memory_order_release);
	return library == PRESENT;
}

/*
 * Finds a device by its bus id, if NVML does not know its uuid. Returns NULL for a MIG instance,
 * because the bus id belongs to the whole device.
 */
static void *find_by_bus(const struct gmt_driver_device_info *info)
{
	struct memory memory;
	void *handle;

	if (!api.by_pci_bus_id || !info->pci_bus_id[0] ||
		api.by_pci_bus_id(info->pci_bus_id, &handle) || api.memory(handle, &memory) ||
		memory.total_bytes / 4 * 3 > info->total_bytes)
		return NULL;
	return handle;
}

static void *find_device(unsigned device)
{
	struct gmt_driver_device_info info;
	char mig_uuid[sizeof(info.uuid)];
	void *handle = NULL;

	if (!gmt_driver_device_info(device, &info))
		return NULL;
	if (info.uuid[0] && !api.by_uuid(info.uuid, &handle))
		return handle;
	/* For a MIG instance, NVML uses the same sixteen bytes with another prefix. */
	memcpy(mig_uuid, info.uuid, sizeof(mig_uuid));
	memcpy(mig_uuid, "MIG", strlen("MIG"));
	if (info.uuid[0] && !api.by_uuid(mig_uuid, &handle))
		return handle;
	return find_by_bus(&info);
}

static void *handle_of(unsigned device)
{
	if (device >= DEVICES)
		return NULL;
	if (!devices[device].was_looked_up) {
		devices[device].handle = find_device(device);
		devices[device].was_looked_up = true;
	}
	return devices[device].handle;
}

static bool ask_memory(void *handle, uint64_t *ret_used_bytes)
{
	struct memory_v2 newer = { .version = MEMORY_V2 };
	struct memory memory;

	/* The newer form excludes memory that the device reserves for itself, as the driver does. */
	if (api.memory_v2 && !api.memory_v2(handle, &newer)) {
		*ret_used_bytes = newer.used_bytes;
		return true;
	}
	if (api.memory(handle, &memory))
		return false;
	*ret_used_bytes = memory.used_bytes;
	return true;
}

/* Merges a list into the first `merged_count` processes. Returns the new number of processes. */
static unsigned merge(unsigned merged_count, const struct process *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned at = 0;

		while (at < merged_count && nvml.processes[at].pid != list[i].pid)
			at++;
		if (at == PROCESSES)
			return merged_count;
		if (at == merged_count)
			nvml.processes[merged_count++] = list[i];
		else if (nvml.processes[at].used_bytes < list[i].used_bytes)
			nvml.processes[at].used_bytes = list[i].used_bytes;
	}
	return merged_count;
}

static bool list_processes(void *handle, unsigned *ret_count)
{
	*ret_count = 0;
	if (!api.lists[0])
		return false;
	for (int i = 0; i < LISTS; i++) {
		unsigned count = PROCESSES;
		int result = api.lists[i] ? api.lists[i](handle, &count, nvml.listed) : -1;

		/* A data centre device has no graphics, and not every driver knows MPS. */
		if (result && i == 0)
			return false;
		if (!result)
			*ret_count = merge(*ret_count, nvml.listed, count < PROCESSES ? count : PROCESSES);
	}
	return true;
}

static void ask_processes(void *handle, bool may_be_listed, struct gmt_nvml_answer *answer)
{
	unsigned count, own_pid = (unsigned)getpid();
	bool is_listed = false, all_known = true;

	if (nvml.pids_are_foreign || !list_processes(handle, &count))
		return;
	for (unsigned i = 0; i < count; i++) {
		all_known &= nvml.processes[i].used_bytes != NOT_AVAILABLE;
		if (nvml.processes[i].pid == own_pid) {
			is_listed = true;
			answer->process_bytes = nvml.processes[i].used_bytes;
		} else {
			answer->others_bytes += nvml.processes[i].used_bytes;
		}
	}
	nvml.pids_are_foreign = is_listed && !may_be_listed;
	if (is_listed && all_known && !nvml.pids_are_foreign)
		answer->known |= GMT_SAMPLE_PROCESSES;
	else
		answer->process_bytes = answer->others_bytes = 0;
}

void gmt_nvml_ask(unsigned device, bool may_be_listed, struct gmt_nvml_answer *ret_answer)
{
	void *handle = library == PRESENT ? handle_of(device) : NULL;

	*ret_answer = (struct gmt_nvml_answer){ 0 };
	if (!handle)
		return;
	if (ask_memory(handle, &ret_answer->used_bytes))
		ret_answer->known |= GMT_SAMPLE_NVML;
	ask_processes(handle, may_be_listed, ret_answer);
}

void gmt_nvml_hold(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(HOLD_WAIT_NS);

	while (atomic_flag_test_and_set_explicit(&nvml.open_lock, memory_order_acquire)) {
		if (atomic_load_explicit(&nvml.is_stuck, memory_order_relaxed) ||
			!gmt_bounded_wait_rest(&wait)) {
			atomic_store_explicit(&nvml.is_stuck, true, memory_order_relaxed);
			return;
		}
	}
	is_held_by_this_fork = true;
}

void gmt_nvml_release(void)
{
	if (!is_held_by_this_fork)
		return;
	is_held_by_this_fork = false;
	atomic_flag_clear_explicit(&nvml.open_lock, memory_order_release);
}

/* Resets the lock in the child of a fork: the thread that held it may not exist there. */
static void after_fork(void)
{
	is_held_by_this_fork = false;
	atomic_flag_clear_explicit(&nvml.open_lock, memory_order_release);
}

GMT_AT_STAGE(after_fork, DRIVER, after_fork);
GMT_AT_STAGE(before_fork, DRIVER, gmt_nvml_hold);
GMT_AT_STAGE(fork_parent, DRIVER, gmt_nvml_release);

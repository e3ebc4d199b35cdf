/* SPDX-License-Identifier: MIT */
/*
 * The code of the probe processes. The libraries opened here may run any code, so the probe is not
 * the process that prints the findings.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"

/*
 * Function types of the driver and of NVML, from their documentation. Their headers are not used.
 */
typedef int result_function(void);
typedef int init_function(unsigned flags);
typedef int number_function(int *number);
typedef int device_function(int *device, int ordinal);
typedef int device_name_function(char *name, int size_bytes, int device);
typedef int device_memory_function(size_t *size_bytes, int device);
typedef int lookup_function(const char *name, void **address, int version, uint64_t flags,
	int *status);
typedef int release_function(char *text, unsigned size_bytes);

enum { REQUESTED_VERSION = 12000, LINE_BYTES = PATH_MAX + 64 };

/* Prints one line and flushes it, so that it is not lost if the process crashes. */
__attribute__((format(printf, 2, 3))) static void print_answer(const char *key, const char *format,
	...)
{
	char line[LINE_BYTES];
	va_list arguments;
	int length = snprintf(line, sizeof(line), "gmt:%s=", key);

	va_start(arguments, format);
	vsnprintf(line + length, sizeof(line) - (size_t)length, format, arguments);
	va_end(arguments);
	for (char *at = line; *at; at++)
		if (*at == '\n')
			*at = ' ';
	printf("%s\n", line);
	fflush(stdout);
}

/* Returns the file of the object that contains the address, or "". */
static const char *file_of(void *address)
{
	Dl_info symbol;

	return address && dladdr(address, &symbol) && symbol.dli_fname ? symbol.dli_fname : "";
}

static void *open_and_print(const char *name, const char *key, const char *key_of_error)
{
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (!handle)
		print_answer(key_of_error, "%s", dlerror());
	else if (!dlinfo(handle, RTLD_DI_LINKMAP, &map))
		print_answer(key, "%s", map->l_name);
	return handle;
}

static void print_devices(void *driver)
{
	number_function *get_count = (number_function *)dlsym(driver, "cuDeviceGetCount");
	device_function *get_device = (device_function *)dlsym(driver, "cuDeviceGet");
	device_name_function *get_name = (device_name_function *)dlsym(driver, "cuDeviceGetName");
	device_memory_function *get_memory =
		(device_memory_function *)dlsym(driver, "cuDeviceTotalMem_v2");
	int count = 0;

	if (!get_count || get_count(&count) || count < 0)
		return;
	print_answer("devices", "%d", count);
	for (int i = 0; i < count && i < GMT_DOCTOR_DEVICES; i++) {
		char key[32], name[128] = "";
		size_t size_bytes = 0;
		int device;

		if (!get_device || get_device(&device, i))
			continue;
		if (get_name)
			get_name(name, sizeof(name), device);
		if (get_memory)
			get_memory(&size_bytes, device);
		name[sizeof(name) - 1] = 0;
		snprintf(key, sizeof(key), "device%d", i);
		print_answer(key, "%zu %s", size_bytes, name);
	}
}

static void probe_driver(void)
{
	void *driver = open_and_print("libcuda.so.1", "driver", "driver_error");
	init_function *init = driver ? (init_function *)dlsym(driver, "cuInit") : NULL;
	number_function *get_version =
		driver ? (number_function *)dlsym(driver, "cuDriverGetVersion") : NULL;
	int version, result;

	if (!init)
		return;
	if (get_version && !get_version(&version))
		print_answer("version", "%d", version);
	print_answer("at", "cuInit");
	result = init(0);
	print_answer("init", "%d", result);
	if (!result)
		print_devices(driver);
}

static void probe_management(void)
{
	void *nvml = open_and_print("libnvidia-ml.so.1", "nvml", "nvml_error");
	result_function *init = nvml ? (result_function *)dlsym(nvml, "nvmlInit_v2") : NULL;
	release_function *get_release =
		nvml ? (release_function *)dlsym(nvml, "nvmlSystemGetDriverVersion") : NULL;
	char release[80] = "";

	if (!init)
		return;
	int result = init();
	print_answer("nvml_init", "%d", result);
	if (!result && get_release && !get_release(release, sizeof(release)))
		print_answer("release", "%s", release);
}

static int find_recorder(struct dl_phdr_info *object, size_t size, void *found)
{
	(void)size;
	if (!strstr(object->dlpi_name, "/libgpumemtrace.so"))
		return 0;
	*(bool *)found = true;
	print_answer("recorder", "%s", object->dlpi_name);
	return 1;
}

/*
 * Prints whether the recorder is loaded into this process, and which file contains the driver
 * functions that dlsym and cuGetProcAddress return.
 */
static void probe_recorder(void)
{
	bool is_loaded = false;
	void *address = NULL;
	int status = 0;

	dl_iterate_phdr(find_recorder, &is_loaded);
	if (!is_loaded)
		return;

	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	lookup_function *look_up =
		driver ? (lookup_function *)dlsym(driver, "cuGetProcAddress_v2") : NULL;
	if (driver)
		print_answer("dlsym_file", "%s", file_of(dlsym(driver, "cuMemAlloc_v2")));
	if (look_up && !look_up("cuMemAlloc", &address, REQUESTED_VERSION, 0, &status) && address)
		print_answer("get_proc_address_file", "%s", file_of(address));
}

int gmt_doctor_probe(const char *what)
{
	if (strcmp(what, "driver") == 0) {
		probe_driver();
		probe_management();
	} else if (strcmp(what, "unwinder") == 0) {
		open_and_print("libunwind.so.8", "unwinder", "unwinder_error");
	} else {
		probe_recorder();
	}
	/* Skip the driver's exit handlers: they are not relevant here and may take long. */
	fflush(stdout);
	_exit(0);
}

bool gmt_doctor_probe_value(const struct gmt_doctor_subprocess *process, const char *key,
	char *ret_value, size_t value_bytes)
{
	char start[64];
	int length = snprintf(start, sizeof(start), "gmt:%s=", key);
	const char *line = process->out;

	while (line && strncmp(line, start, (size_t)length) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return false;
	snprintf(ret_value, value_bytes, "%.*s", (int)strcspn(line + length, "\n"), line + length);
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * seek [PLUGIN]: looks for CUDA in every way in which programs test whether it is there. Prints all
 * answers: whether a function is found, in which file it is, and what dlerror returns. The output
 * must be the same with and without the recorder, byte by byte.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int seek_all(const char *who);

static const char *const names[] = {
	"cuInit",
	"cuMemAlloc_v2",
	"cuGetProcAddress",
	"cuGetProcAddress_v2",
	"cuDeviceGetCount",
	"cudaMalloc",
	"cudaFree",
	"cudaGetDeviceCount",
	"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
	"cuNeverHeardOf",
	"malloc",
	"cuInit ",
	"",
};

static void print_found(const char *who, const char *how, const char *name, const void *found)
{
	const char *text = dlerror();

	printf("%s %s '%s': %s, %s", who, how, name, found ? "found" : "none",
		text ? text : "no error");
	text = dlerror();
	printf(", then %s\n", text ? text : "no error");
}

static void seek_in(const char *who, const char *how, void *handle, const char *name)
{
	static const char *const versions[] = { "libcudart.so.13", "GLIBC_2.34", "NEVER" };

	print_found(who, how, name, dlsym(handle, name));
	for (unsigned i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		printf("  %s ", versions[i]);
		print_found(who, how, name, dlvsym(handle, name, versions[i]));
	}
}

/* Checks that the next successful call clears dlerror, as the loader does. */
static void seek_and_go_on(const char *who, void *global)
{
	dlsym(global, "cuInit");
	print_found(who, "afterwards", "dlopen", dlopen(NULL, RTLD_LAZY));
	dlsym(global, "cuInit");
	print_found(who, "afterwards", "malloc", dlsym(global, "malloc"));
	dlsym(global, "cuNeverHeardOf");
	print_found(who, "again", "cudaMalloc", dlsym(global, "cudaMalloc"));
}

__attribute__((visibility("default"))) int seek_all(const char *who)
{
	static const char *const libraries[] = { "libcuda.so.1", "libcudart.so.13", "libcudart.so.99",
		"libm.so.6" };
	void *global = dlopen(NULL, RTLD_LAZY);

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		seek_in(who, "default", RTLD_DEFAULT, names[i]);
		seek_in(who, "next", RTLD_NEXT, names[i]);
		seek_in(who, "program", global, names[i]);
	}
	seek_and_go_on(who, global);
	for (unsigned i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);

		print_found(who, "open", libraries[i], library);
		for (unsigned k = 0; library && k < sizeof(names) / sizeof(*names); k++)
			seek_in(who, libraries[i], library, names[k]);
		if (library)
			dlclose(library);
	}

	Dl_info symbol;

	printf("%s malloc is of %s\n", who,
		dladdr(dlsym(RTLD_DEFAULT, "malloc"), &symbol) ? symbol.dli_fname : "nobody");
	return 0;
}

#if defined(IS_PROGRAM)
static void *seek_in_thread(void *argument)
{
	(void)argument;
	seek_all("thread");
	return NULL;
}

int main(int count, char **arguments)
{
	void *plugin = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*seek)(const char *) = plugin ? (int (*)(const char *))dlsym(plugin, "seek_all") : NULL;
	pthread_t thread;

	seek_all("program");
	if (seek)
		seek("plugin");
	if (pthread_create(&thread, NULL, seek_in_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	return 0;
}
#endif

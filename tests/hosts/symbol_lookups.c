/* SPDX-License-Identifier: MIT */
/*
 * Makes all kinds of symbol look-ups, valid and invalid. Prints each result: the symbol, its
 * object, and the results of two dlerror() calls. The output must be the same with and without the
 * recorder, so the program looks up no libc function that the recorder replaces, such as dlsym.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void report_error(void)
{
	const char *first = dlerror();

	printf(" [%s]", first ? first : "no error");
	printf(" then [%s]\n", dlerror() ? "an error" : "no error");
}

static void print_answer(const char *question, const void *found)
{
	Dl_info info;

	printf("%s:", question);
	if (!found)
		printf(" nothing");
	else if (dladdr(found, &info))
		printf(" in %s as %s", base_name(info.dli_fname), info.dli_sname ? info.dli_sname : "?");
	else
		printf(" somewhere");
	report_error();
}

static void look_up_all(const char *scope, void *handle)
{
	static const char *const names[] = { "malloc", "printf", "environ", "stdout", "pthread_create",
		"cos", "no_such_function", "", "main", "cuInit", "cuGetProcAddress", "cudaMalloc",
		"cudaFree", "nvmlInit_v2", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE" };
	static const char *const versions[] = { "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34", "GLIBC_9.9",
		"" };
	/* glibc 2.36 fails on an empty version if a library has no version for the name. */
	size_t version_count =
		sizeof(versions) / sizeof(*versions) - !(handle == RTLD_DEFAULT || handle == RTLD_NEXT);
	char text[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(text, sizeof(text), "dlsym %s %s", scope, names[i]);
		print_answer(text, dlsym(handle, names[i]));
		for (size_t j = 0; j < version_count; j++) {
			snprintf(text, sizeof(text), "dlvsym %s %s %s", scope, names[i], versions[j]);
			print_answer(text, dlvsym(handle, names[i], versions[j]));
		}
	}
}

static void open_and_close(const char *name, int mode)
{
	void *handle = dlopen(name, mode);
	char text[256];

	printf("dlopen %s %x: %s", name ? name : "itself", (unsigned)mode, handle ? "open" : "nothing");
	report_error();
	if (!handle)
		return;
	snprintf(text, sizeof(text), "%s", name ? name : "itself");
	look_up_all(text, handle);

	struct link_map *map = NULL;

	printf("dlinfo %d", dlinfo(handle, RTLD_DI_LINKMAP, &map));
	printf(" %s", map ? base_name(map->l_name) : "?");
	report_error();
	printf("dlclose %d", dlclose(handle));
	report_error();
}

/* dlerror() is per thread: another thread must not see this thread's error. */
static void *in_thread(void *nothing)
{
	(void)nothing;
	printf("in a thread before:");
	report_error();
	print_answer("in a thread", dlsym(RTLD_DEFAULT, "no_such_function_either"));
	dlsym(RTLD_DEFAULT, "left_behind");
	return NULL;
}

static int count_objects(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)size;
	if (!strstr(info->dlpi_name, "gpumemtrace"))
		++*(int *)count;
	return 0;
}

int main(void)
{
	static const char *const libraries[] = { "libm.so.6", "libz.so.1", "libdl.so.2", "libcuda.so.1",
		"libcuda.so", "libnvidia-ml.so.1", "libcudart.so.12", "libno_such_library.so", "/dev/null",
		"" };
	static const int modes[] = { RTLD_LAZY, RTLD_NOW, RTLD_NOW | RTLD_GLOBAL,
		RTLD_LAZY | RTLD_NOLOAD, RTLD_NOW | RTLD_DEEPBIND, RTLD_NOW | RTLD_NODELETE, 0 };
	pthread_t thread;
	int count = 0;

	print_answer("at first", NULL);
	look_up_all("default", RTLD_DEFAULT);
	look_up_all("next", RTLD_NEXT);
	open_and_close(NULL, RTLD_NOW);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		for (size_t j = 0; j < sizeof(modes) / sizeof(*modes); j++)
			open_and_close(libraries[i], modes[j]);
	dlsym(RTLD_DEFAULT, "the_main_threads");
	if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
		pthread_join(thread, NULL);
	printf("in the main thread after:");
	report_error();

	void *separate = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);

	printf("dlmopen %s", separate ? "open" : "nothing");
	report_error();
	if (separate) {
		print_answer("in a namespace", dlsym(separate, "cos"));
		print_answer("in a namespace", dlsym(separate, "cuInit"));
		printf("dlclose %d", dlclose(separate));
		report_error();
	}
	dl_iterate_phdr(count_objects, &count);
	printf("%d objects\n", count);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * usage: symbol_requests LIBCUDART [FILE]      (with STATIC_RUNTIME: symbol_requests - [FILE])
 *
 * Starts one of NVIDIA's CUDA runtimes on a fake driver, with which the start fails. Prints each
 * symbol that the runtime requested by dlsym and cuGetProcAddress, with the answer. Then requests
 * by itself each line "NAME VERSION" of FILE, with the flags 0, 1 and 2, through both forms of
 * cuGetProcAddress. A line of the output is
 *
 *	WHO ROUTE NAME VERSION FLAGS RESULT OBJECT OFFSET
 *
 * WHO is "runtime" or "self". OBJECT is the file that has the answer, "-" if there is no answer.
 * The program defines its own dlsym, which comes before the dlsym of a preload and calls it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int proc_address(const char *, void **, int, uint64_t);
typedef int proc_address_v2(const char *, void **, int, uint64_t, int *);

struct request {
	const char *who, *route;
	char *name;
	int version, result;
	uint64_t flags;
	void *answer;
};

static struct request *requests;
static size_t count, capacity;
static int is_recording;
static proc_address *original_proc_address;
static proc_address_v2 *original_proc_address_v2;

static void add_request(const char *who, const char *route, const char *name, int version,
	uint64_t flags, int result, void *answer)
{
	if (count == capacity) {
		capacity = capacity ? 2 * capacity : 1024;
		requests = realloc(requests, capacity * sizeof(*requests));
		if (!requests)
			abort();
	}
	requests[count++] =
		(struct request){ who, route, strdup(name), version, result, flags, answer };
}

static void *replace_proc_address(void *answer, const char *name, int version);

static int record_proc_address(const char *name, void **address, int version, uint64_t flags)
{
	int result = original_proc_address(name, address, version, flags);

	add_request("runtime", "v1", name, version, flags, result, result ? NULL : *address);
	if (!result)
		*address = replace_proc_address(*address, name, version);
	return result;
}

static int record_proc_address_v2(const char *name, void **address, int version, uint64_t flags,
	int *status)
{
	int result = original_proc_address_v2(name, address, version, flags, status);

	add_request("runtime", "v2", name, version, flags, result, result ? NULL : *address);
	if (!result)
		*address = replace_proc_address(*address, name, version);
	return result;
}

/*
 * Returns the program's own cuGetProcAddress if the runtime requested the driver's, by dlsym or by
 * an earlier cuGetProcAddress. Returns other answers unchanged.
 */
static void *replace_proc_address(void *answer, const char *name, int version)
{
	if (!answer)
		return NULL;
	if (strcmp(name, "cuGetProcAddress_v2") == 0 ||
		(strcmp(name, "cuGetProcAddress") == 0 && version >= 12000)) {
		original_proc_address_v2 = (proc_address_v2 *)answer;
		return (void *)record_proc_address_v2;
	}
	if (strcmp(name, "cuGetProcAddress") == 0) {
		original_proc_address = (proc_address *)answer;
		return (void *)record_proc_address;
	}
	return answer;
}

/* Calls the next dlsym, which is that of a preload or of libc. Finds it by libc's own dlsym. */
static void *next_dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	void *(*libc)(void *, const char *) = NULL;

	for (size_t i = 0; !next && !libc && i < sizeof(versions) / sizeof(*versions); i++)
		*(void **)&libc = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	if (!next && libc)
		*(void **)&next = libc(RTLD_NEXT, "dlsym");
	if (!next)
		abort();
	return next(handle, name);
}

__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
	void *answer = next_dlsym(handle, name);

	if (!is_recording || strncmp(name, "cu", 2) != 0)
		return answer;
	add_request("runtime", "dlsym", name, 0, 0, answer ? 0 : 500, answer);
	return replace_proc_address(answer, name, 0);
}

static void request_names(void *driver, const char *path)
{
	proc_address *v1 = (proc_address *)next_dlsym(driver, "cuGetProcAddress");
	proc_address_v2 *v2 = (proc_address_v2 *)next_dlsym(driver, "cuGetProcAddress_v2");
	FILE *file = fopen(path, "r");
	char name[256];
	int version;

	while (v1 && v2 && file && fscanf(file, "%255s %d", name, &version) == 2)
		for (uint64_t flags = 0; flags <= 2; flags++) {
			void *answer = NULL;
			int status, result = v1(name, &answer, version, flags);

			add_request("self", "v1", name, version, flags, result, result ? NULL : answer);
			answer = NULL;
			result = v2(name, &answer, version, flags, &status);
			add_request("self", "v2", name, version, flags, result, result ? NULL : answer);
		}
	if (file)
		fclose(file);
}

static void print(const struct request *request)
{
	Dl_info symbol;
	int is_known = request->answer && dladdr(request->answer, &symbol);

	printf("%s %s %s %d %d %d %s %#lx\n", request->who, request->route,
		*request->name ? request->name : "\"\"", request->version, (int)request->flags,
		request->result, is_known ? symbol.dli_fname : "-",
		is_known ? (unsigned long)((char *)request->answer - (char *)symbol.dli_fbase) : 0ul);
}

#ifdef STATIC_RUNTIME
int cudaFree(void *);
#endif

int main(int argc, char **argv)
{
	int (*free_nothing)(void *);

	if (argc < 2)
		return 2;
#ifdef STATIC_RUNTIME
	/* The runtime is linked in, so argv[1] is unused. */
	free_nothing = cudaFree;
#else
	void *runtime = dlopen(argv[1], RTLD_NOW);
	if (!runtime) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	free_nothing = (int (*)(void *))next_dlsym(runtime, "cudaFree");
#endif
	/* A runtime whose start fails unloads the driver. This reference keeps the answers valid. */
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	is_recording = 1;
	/* The runtime starts at the first call that needs the driver. */
	int result = free_nothing(NULL);
	is_recording = 0;
	if (argc > 2)
		request_names(driver, argv[2]);
	for (size_t i = 0; i < count; i++)
		print(&requests[i]);
	printf("ended %d\n", result);
	return 0;
}

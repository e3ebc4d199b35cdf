/* SPDX-License-Identifier: MIT */
/*
 * Uses NVTX like a program that was compiled with its headers: it has a copy of NVTX's tables,
 * fills them at the first use, and calls the functions in them. Its arguments are commands:
 *
 *	push:NAME pop mark:NAME start:NAME end     the default domain; `end` ends the last start
 *	wpush:NAME wmark:NAME                      with wide strings
 *	dpush:NAME dpop dmark:NAME dstart:NAME dend   in the domain "our domain"
 *	rpush:NAME                                 in that domain, with a registered string
 *	alloc                                      allocates CUDA memory
 *	copy                                       runs the rest with another copy of the tables
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { SLOTS = 16, COPIES = 2 };

typedef void function(void);

struct attributes {
	uint16_t version, size;
	uint32_t unused[5];
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

static struct copy {
	function *core[SLOTS], *core2[SLOTS];
	function **core_slots[SLOTS], **core2_slots[SLOTS];
	int is_started;
} copies[COPIES];
static struct copy *copy = copies;
static uint64_t last_id;

/*
 * The first target of each NVTX function, before NVTX has been started. If a tool calls it, the
 * call returns to the tool.
 */
static void starter(void)
{
	printf("called the starter\n");
	abort();
}

static int get_functions(int module, function ****ret_table, unsigned *ret_count)
{
	if (module != 1 && module != 5)
		return 0;
	*ret_table = module == 1 ? copy->core_slots : copy->core2_slots;
	*ret_count = SLOTS;
	return 1;
}

static const void *get_table(uint32_t table)
{
	static const struct {
		size_t size;
		int (*get_functions)(int, function ****, unsigned *);
	} callbacks = { sizeof(callbacks), get_functions };

	return table == 1 ? &callbacks : NULL;
}

static void start_copy(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)) = NULL, (*extend)(void *) = NULL;

	for (int i = 1; i < SLOTS; i++) {
		copy->core[i] = copy->core2[i] = starter;
		copy->core_slots[i] = &copy->core[i];
		copy->core2_slots[i] = &copy->core2[i];
	}
	if (library) {
		*(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
		*(void **)&extend = dlsym(library, "InitializeInjectionNvtxExtension");
	}
	printf("tool %d\n", initialize ? initialize(get_table) : -1);
	if (extend)
		printf("extension %d\n", extend(NULL));
	for (int i = 1; i < SLOTS; i++) {
		copy->core[i] = copy->core[i] == starter ? NULL : copy->core[i];
		copy->core2[i] = copy->core2[i] == starter ? NULL : copy->core2[i];
	}
	copy->is_started = 1;
}

/* Passes as many arguments as the longest NVTX function has; other functions ignore the rest. */
static uint64_t call(function *callee, const void *first, const void *second)
{
	return callee ? ((uint64_t (*)(const void *, const void *))callee)(first, second) : 0;
}

static void *domain(void)
{
	static void *domains[COPIES];
	void **mine = &domains[copy - copies];

	if (!*mine)
		*mine = (void *)call(copy->core2[12], "our domain", NULL);
	return *mine;
}

static void with_attributes(int function_number, int32_t type, const void *message, int is_start)
{
	struct attributes attributes = { 2, sizeof(attributes), { 0 }, 0, type, message };
	uint64_t result = call(copy->core2[function_number], domain(), &attributes);

	last_id = is_start ? result : last_id;
	printf("%lld\n", is_start ? (long long)result : (long long)(int)result);
}

static void in_default_domain(const char *verb, const char *name)
{
	static wchar_t wide[256];

	mbstowcs(wide, name, 255);
	if (strcmp(verb, "push") == 0)
		printf("%d\n", (int)call(copy->core[9], name, NULL));
	else if (strcmp(verb, "pop") == 0)
		printf("%d\n", (int)call(copy->core[11], NULL, NULL));
	else if (strcmp(verb, "mark") == 0)
		call(copy->core[2], name, NULL);
	else if (strcmp(verb, "start") == 0)
		printf("%llu\n", (unsigned long long)(last_id = call(copy->core[5], name, NULL)));
	else if (strcmp(verb, "end") == 0)
		call(copy->core[7], (void *)last_id, NULL);
	else if (strcmp(verb, "wpush") == 0)
		printf("%d\n", (int)call(copy->core[10], wide, NULL));
	else if (strcmp(verb, "wmark") == 0)
		call(copy->core[3], wide, NULL);
}

static void in_our_domain(const char *verb, const char *name)
{
	if (strcmp(verb, "dpush") == 0)
		with_attributes(4, 1, name, 0);
	else if (strcmp(verb, "rpush") == 0)
		with_attributes(4, 3, (void *)call(copy->core2[10], domain(), name), 0);
	else if (strcmp(verb, "dpop") == 0)
		printf("%d\n", (int)call(copy->core2[5], domain(), NULL));
	else if (strcmp(verb, "dmark") == 0)
		call(copy->core2[1], domain(),
			&(struct attributes){ 2, sizeof(struct attributes), { 0 }, 0, 1, name });
	else if (strcmp(verb, "dstart") == 0)
		with_attributes(2, 1, name, 1);
	else if (strcmp(verb, "dend") == 0)
		call(copy->core2[3], domain(), (void *)last_id);
}

int main(int argc, char **argv)
{
	void *block;

	setvbuf(stdout, NULL, _IONBF, 0);
	setlocale(LC_ALL, "C.UTF-8");
	for (int i = 1; i < argc; i++) {
		char *verb = strdup(argv[i]), *colon = strchr(verb, ':');

		if (colon)
			*colon = 0;
		if (strcmp(verb, "copy") == 0)
			copy++;
		if (!copy->is_started)
			start_copy();
		if (strcmp(verb, "alloc") == 0 && cudaMalloc(&block, 1000))
			return 1;
		in_default_domain(verb, colon ? colon + 1 : "");
		in_our_domain(verb, colon ? colon + 1 : "");
		/* The recorder must not keep the program's own string. */
		memset(verb, 'X', strlen(verb));
		free(verb);
	}
	return 0;
}

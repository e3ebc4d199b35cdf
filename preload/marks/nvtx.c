/* SPDX-License-Identifier: MIT */
/*
 * Records NVTX ranges and marks. Each binary that uses NVTX has its own copy of NVTX. On its first
 * use, a copy loads the library that NVTX_INJECTION64_PATH names, which is the recorder
 * (nvtx_getenv.c). The copy then calls InitializeInjectionNvtx2, with tables of the addresses of
 * its function pointers.
 *
 * If the environment names another tool, that tool is initialized first. If the tool set a function
 * pointer, our function also calls the tool's function, and returns the tool's result to the
 * program. All copies share our functions. Therefore a function that a tool set in one copy is
 * called for all copies. Tools set the same functions in each copy.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "marks/nvtx_getenv.h"
#include "marks/nvtx_memory.h"
#include "marks/nvtx_names.h"
#include "marks/open_phases.h"
#include "producer/mark.h"
#include "interpose/dlerror.h"

/*
 * NVTX's interface, versions 2 and 3. Numbers and layouts are those of nvtxTypes.h and
 * nvToolsExt.h.
 */
enum { CALLBACKS_TABLE = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };

typedef void function(void);
typedef const void *get_table_function(uint32_t table);
typedef int initialize_function(get_table_function *get_table);

struct callbacks {
	size_t size_bytes;
	int (*get_functions)(int module, function ****ret_table, unsigned *ret_count);
};

struct attributes {
	uint16_t version;
	uint16_t size_bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

/*
 * The replaced functions. Columns: module, number in the module, name, return type, parameter
 * types.
 */
#define HOOKS(HOOK) \
	HOOK(MODULE_CORE, 1, mark_ex, void, const struct attributes *) \
	HOOK(MODULE_CORE, 2, mark_a, void, const char *) \
	HOOK(MODULE_CORE, 3, mark_w, void, const wchar_t *) \
	HOOK(MODULE_CORE, 4, start_ex, uint64_t, const struct attributes *) \
	HOOK(MODULE_CORE, 5, start_a, uint64_t, const char *) \
	HOOK(MODULE_CORE, 6, start_w, uint64_t, const wchar_t *) \
	HOOK(MODULE_CORE, 7, end, void, uint64_t) \
	HOOK(MODULE_CORE, 8, push_ex, int, const struct attributes *) \
	HOOK(MODULE_CORE, 9, push_a, int, const char *) \
	HOOK(MODULE_CORE, 10, push_w, int, const wchar_t *) \
	HOOK(MODULE_CORE, 11, pop, int, void) \
	HOOK(MODULE_CORE2, 1, domain_mark_ex, void, const void *, const struct attributes *) \
	HOOK(MODULE_CORE2, 2, domain_start_ex, uint64_t, const void *, const struct attributes *) \
	HOOK(MODULE_CORE2, 3, domain_end, void, const void *, uint64_t) \
	HOOK(MODULE_CORE2, 4, domain_push_ex, int, const void *, const struct attributes *) \
	HOOK(MODULE_CORE2, 5, domain_pop, int, const void *) \
	HOOK(MODULE_CORE2, 10, register_a, void *, const void *, const char *) \
	HOOK(MODULE_CORE2, 11, register_w, void *, const void *, const wchar_t *) \
	HOOK(MODULE_CORE2, 12, domain_create_a, void *, const char *) \
	HOOK(MODULE_CORE2, 13, domain_create_w, void *, const wchar_t *)

#define DECLARE(module, number, name, type, ...) \
	typedef type name##_function(__VA_ARGS__); \
	static name##_function on_##name;
HOOKS(DECLARE)

enum hook {
#define NUMBER(module, number, name, type, ...) HOOK_##name,
	HOOKS(NUMBER) HOOK_COUNT
};

static const struct {
	int module;
	unsigned number;
	function *ours;
} hooks[] = {
#define ROW(module, number, name, type, ...) { module, number, (function *)on_##name },
	HOOKS(ROW)
};

/* The other tool's functions. */
static function *_Atomic next[HOOK_COUNT];

#define NEXT(name) \
	((name##_function *)atomic_load_explicit(&next[HOOK_##name], memory_order_acquire))

/* Returns the text of a message: the message itself, or its UTF-8 form in `buffer`. */
static const char *text_of(const struct attributes *attributes, char buffer[GMT_NVTX_NAME_BYTES])
{
	if (!attributes || attributes->size_bytes < sizeof(*attributes))
		return NULL;
	return gmt_nvtx_text(attributes->message_type, attributes->message, buffer);
}

static void mark(const void *domain, const char *text)
{
	struct gmt_nvtx_full_name name;

	gmt_nvtx_full_name_init(&name, domain, text);
	gmt_mark(GMT_MARK_KIND_POINT, GMT_MARK_SOURCE_NVTX, name.text, name.length, (uintptr_t)domain);
}

static int push(const void *domain, const char *text)
{
	struct gmt_nvtx_full_name name;

	gmt_nvtx_full_name_init(&name, domain, text);
	return gmt_phase_push(GMT_MARK_SOURCE_NVTX, name.text, name.length, (uintptr_t)domain);
}

/* `id` is the other tool's id if is_given is true. Otherwise the function returns a new number. */
static uint64_t start(const void *domain, const char *text, bool is_given, uint64_t id)
{
	static _Atomic uint64_t last;
	struct gmt_nvtx_full_name name;

	if (!is_given)
		id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	gmt_nvtx_full_name_init(&name, domain, text);
	/* A tool that does not distinguish ranges returns 0. */
	if (id)
		gmt_phase_start(GMT_MARK_SOURCE_NVTX, name.text, name.length, id);
	return id;
}

static void stop(uint64_t id)
{
	if (id)
		gmt_phase_stop(GMT_MARK_SOURCE_NVTX, id);
}

/*
 * Calls the recorder's code and the other tool's function. `recorded` evaluates to the recorder's
 * own return value.
 */
#define PASS_ON(name, recorded, ...) \
	do { \
		name##_function *theirs = NEXT(name); \
		int ours = recorded; \
		return theirs ? theirs(__VA_ARGS__) : ours; \
	} while (0)

#define PASS_ON_START(name, domain, text, ...) \
	do { \
		name##_function *theirs = NEXT(name); \
		return start(domain, text, theirs != NULL, theirs ? theirs(__VA_ARGS__) : 0); \
	} while (0)

#define PASS_ON_VOID(name, recorded, ...) \
	do { \
		name##_function *theirs = NEXT(name); \
		recorded; \
		if (theirs) \
			theirs(__VA_ARGS__); \
	} while (0)

static void on_mark_ex(const struct attributes *attributes)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON_VOID(mark_ex, mark(NULL, text_of(attributes, buffer)), attributes);
}

static void on_mark_a(const char *text)
{
	PASS_ON_VOID(mark_a, mark(NULL, text), text);
}

static void on_mark_w(const wchar_t *text)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON_VOID(mark_w, mark(NULL, gmt_nvtx_to_utf8(text, buffer)), text);
}

static uint64_t on_start_ex(const struct attributes *attributes)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON_START(start_ex, NULL, text_of(attributes, buffer), attributes);
}

static uint64_t on_start_a(const char *text)
{
	PASS_ON_START(start_a, NULL, text, text);
}

static uint64_t on_start_w(const wchar_t *text)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON_START(start_w, NULL, gmt_nvtx_to_utf8(text, buffer), text);
}

static void on_end(uint64_t id)
{
	PASS_ON_VOID(end, stop(id), id);
}

static int on_push_ex(const struct attributes *attributes)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON(push_ex, push(NULL, text_of(attributes, buffer)), attributes);
}

static int on_push_a(const char *text)
{
	PASS_ON(push_a, push(NULL, text), text);
}

static int on_push_w(const wchar_t *text)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON(push_w, push(NULL, gmt_nvtx_to_utf8(text, buffer)), text);
}

static int on_pop(void)
{
	PASS_ON(pop, gmt_phase_pop(GMT_MARK_SOURCE_NVTX, 0));
}

static void on_domain_mark_ex(const void *domain, const struct attributes *attributes)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON_VOID(domain_mark_ex, mark(domain, text_of(attributes, buffer)), domain, attributes);
}

static uint64_t on_domain_start_ex(const void *domain, const struct attributes *attributes)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON_START(domain_start_ex, domain, text_of(attributes, buffer), domain, attributes);
}

static void on_domain_end(const void *domain, uint64_t id)
{
	PASS_ON_VOID(domain_end, stop(id), domain, id);
}

static int on_domain_push_ex(const void *domain, const struct attributes *attributes)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	PASS_ON(domain_push_ex, push(domain, text_of(attributes, buffer)), domain, attributes);
}

static int on_domain_pop(const void *domain)
{
	PASS_ON(domain_pop, gmt_phase_pop(GMT_MARK_SOURCE_NVTX, (uintptr_t)domain), domain);
}

/* Returns a handle for a name: the other tool's handle if there is a tool. */
#define HANDLE_OF(name, text, ...) \
	do { \
		name##_function *theirs = NEXT(name); \
		void *handle = theirs ? theirs(__VA_ARGS__) : gmt_nvtx_handle(text); \
		if (theirs) \
			gmt_nvtx_register_handle(handle, text); \
		return handle; \
	} while (0)

static void *on_register_a(const void *domain, const char *text)
{
	HANDLE_OF(register_a, text, domain, text);
}

static void *on_register_w(const void *domain, const wchar_t *text)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	gmt_nvtx_to_utf8(text, buffer);
	HANDLE_OF(register_w, buffer, domain, text);
}

static void *on_domain_create_a(const char *text)
{
	HANDLE_OF(domain_create_a, text, text);
}

static void *on_domain_create_w(const wchar_t *text)
{
	char buffer[GMT_NVTX_NAME_BYTES];

	gmt_nvtx_to_utf8(text, buffer);
	HANDLE_OF(domain_create_w, buffer, text);
}

int InitializeInjectionNvtx2(get_table_function *get_table) __attribute__((visibility("default")));
int InitializeInjectionNvtxExtension(void *module) __attribute__((visibility("default")));

/* Finds a function of the tool that the environment names, unless that tool is this library. */
static function *find_in_tool(const char *name, function *ours)
{
	const char *path = gmt_nvtx_getenv_tool();
	bool is_held = gmt_dlerror_hold();
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	function *found = tool ? (function *)dlsym(tool, name) : NULL;

	gmt_dlerror_release(is_held);
	return found == ours ? NULL : found;
}

/*
 * Returns the function pointer for a hook in this copy of NVTX, or NULL if the copy does not have
 * it.
 */
static function **slot_of(const struct callbacks *callbacks, enum hook hook)
{
	function ***table = NULL;
	unsigned count = 0;

	if (!callbacks->get_functions(hooks[hook].module, &table, &count) || !table ||
		hooks[hook].number >= count)
		return NULL;
	return table[hooks[hook].number];
}

int InitializeInjectionNvtx2(get_table_function *get_table)
{
	const struct callbacks *callbacks = get_table ? get_table(CALLBACKS_TABLE) : NULL;
	function *before[HOOK_COUNT];

	if (!gmt_nvtx_getenv_is_replaced() || !callbacks || callbacks->size_bytes < sizeof(*callbacks))
		return 0;

	initialize_function *initialize =
		(initialize_function *)find_in_tool("InitializeInjectionNvtx2",
			(function *)InitializeInjectionNvtx2);
	for (enum hook hook = 0; hook < HOOK_COUNT; hook++) {
		function **slot = slot_of(callbacks, hook);

		before[hook] = slot ? *slot : NULL;
	}

	bool has_next = initialize && initialize(get_table);
	for (enum hook hook = 0; hook < HOOK_COUNT; hook++) {
		function **slot = slot_of(callbacks, hook);

		if (!slot)
			continue;
		/*
		 * A pointer that the tool did not change leads to NVTX's own initialization, and from there
		 * back to the recorder.
		 */
		if (has_next && *slot != before[hook] && *slot != hooks[hook].ours)
			/* Pairs with the acquire in NEXT. */
			atomic_store_explicit(&next[hook], *slot, memory_order_release);
		*slot = hooks[hook].ours;
	}
	return 1;
}

/*
 * NVTX's extensions look for this function in the same library. Only the other tool handles
 * extensions other than the memory extension.
 */
int InitializeInjectionNvtxExtension(void *module)
{
	gmt_nvtx_extension_function *initialize =
		(gmt_nvtx_extension_function *)find_in_tool("InitializeInjectionNvtxExtension",
			(function *)InitializeInjectionNvtxExtension);

	return gmt_nvtx_memory_init(module, initialize);
}

/* SPDX-License-Identifier: MIT */
/*
 * libgpumemtrace-audit.so, for LD_AUDIT. It covers libraries that no preload reaches: libraries in
 * dlmopen namespaces, and libraries opened with RTLD_DEEPBIND that are bound to the driver while
 * they load. It records no events itself. It makes the loader bind the driver's hooked functions to
 * the wrappers of libgpumemtrace.so, which LD_PRELOAD has put into the first namespace. Without
 * libgpumemtrace.so it does nothing.
 *
 * The library examines only bindings to objects named libcuda.so, and traces no call. So calls stay
 * as fast as without it.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "audit/audit_interface.h"

#define EXPORT __attribute__((visibility("default")))

static struct link_map *recorder; /* libgpumemtrace.so in the first namespace */
/* All initial objects of the program are loaded, so this library can call the recorder. */
static bool is_program_loaded;
static gmt_audit_object *report_object;
static gmt_audit_bind *get_wrapper;

enum { MAX_DRIVERS = 16 };

/* The drivers in this process. `map` is NULL in a free entry. */
static struct driver {
	struct link_map *map;
	Lmid_t namespace_id;
} drivers[MAX_DRIVERS];

static bool name_begins_with(const struct link_map *map, const char *prefix)
{
	const char *slash = strrchr(map->l_name, '/');

	return strncmp(slash ? slash + 1 : map->l_name, prefix, strlen(prefix)) == 0;
}

/*
 * Finds an exported function of the recorder in the recorder's own hash table. dlsym would need a
 * handle from dlmopen, and dlmopen is unsafe while the loader binds symbols.
 */
static void *find_function(const char *name)
{
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const uint32_t *hash = NULL;
	uint32_t wanted = 5381;

	/* The loader has added the base address to these pointers. */
	for (const ElfW(Dyn) *entry = recorder->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRTAB)
			names = (const char *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_GNU_HASH)
			hash = (const uint32_t *)entry->d_un.d_ptr;
	}
	if (!symbols || !names || !hash || !hash[0])
		return NULL;

	const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(hash + 4) + hash[2]);
	const uint32_t *chain = buckets + hash[0];

	for (const unsigned char *at = (const unsigned char *)name; *at; at++)
		wanted = wanted * 33 + *at;
	for (uint32_t i = buckets[wanted % hash[0]]; i >= hash[1] && i; i++) {
		if (symbols[i].st_shndx != SHN_UNDEF && strcmp(names + symbols[i].st_name, name) == 0)
			return (void *)(recorder->l_addr + symbols[i].st_value);
		if (chain[i - hash[1]] & 1)
			break;
	}
	return NULL;
}

static bool find_interface(void)
{
	if (recorder && is_program_loaded && !get_wrapper) {
		report_object = (gmt_audit_object *)find_function(GMT_AUDIT_OBJECT);
		get_wrapper = (gmt_audit_bind *)find_function(GMT_AUDIT_BIND);
	}
	return get_wrapper && report_object;
}

/* Reports the address range of an object of another namespace to the recorder. */
static void report_object_range(const struct link_map *map, Lmid_t namespace_id, bool is_unloaded)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;

	if (namespace_id == LM_ID_BASE || !header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		!find_interface())
		return;

	const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(map->l_addr + header->e_phoff);
	uint64_t end = 0;

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr + segments[i].p_memsz > end)
			end = segments[i].p_vaddr + segments[i].p_memsz;
	report_object(namespace_id, map->l_addr, map->l_addr + end, is_unloaded);
}

EXPORT unsigned la_version(unsigned version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT void la_preinit(uintptr_t *cookie)
{
	(void)cookie;
	is_program_loaded = true;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace_id, uintptr_t *cookie)
{
	*cookie = 0;
	if (namespace_id == LM_ID_BASE && name_begins_with(map, "libgpumemtrace.so")) {
		recorder = map;
		return 0; /* the recorder itself must be bound to the original functions */
	}
	report_object_range(map, namespace_id, false);
	if (name_begins_with(map, "libcuda.so")) {
		for (unsigned i = 0; i < MAX_DRIVERS && !*cookie; i++)
			if (!drivers[i].map) {
				drivers[i] = (struct driver){ map, namespace_id };
				*cookie = (uintptr_t)&drivers[i];
			}
		return *cookie ? LA_FLG_BINDTO : 0;
	}
	if (name_begins_with(map, "libcudadebugger.so") || name_begins_with(map, "libnvidia-") ||
		name_begins_with(map, "libdxcore.so"))
		return 0;
	/* la_objclose needs the map. Only a cookie that points into `drivers` belongs to a driver. */
	*cookie = (uintptr_t)map;
	return LA_FLG_BINDFROM;
}

static struct driver *driver_at(uintptr_t cookie)
{
	return cookie >= (uintptr_t)drivers && cookie < (uintptr_t)(drivers + MAX_DRIVERS)
		? (struct driver *)cookie
		: NULL;
}

EXPORT unsigned la_objclose(uintptr_t *cookie)
{
	struct driver *driver = driver_at(*cookie);
	struct link_map *map = driver ? driver->map : (struct link_map *)*cookie;
	Lmid_t namespace_id = LM_ID_BASE;

	if (map && dlinfo(map, RTLD_DI_LMID, &namespace_id) == 0)
		report_object_range(map, namespace_id, true);
	if (driver)
		driver->map = NULL;
	return 0;
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
	unsigned *flags, const char *name)
{
	struct driver *driver = driver_at(*to);

	(void)index;
	(void)from;
	*flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
	if (!driver || !driver->map || !find_interface())
		return symbol->st_value;

	struct gmt_audit_binding binding = {
		.namespace_id = driver->namespace_id,
		.symbol = name,
		.driver_base = driver->map->l_addr,
		.driver_dynamic = driver->map->l_ld,
		.driver_path = driver->map->l_name,
	};
	void *wrapper = get_wrapper(&binding);

	return wrapper ? (uintptr_t)wrapper : symbol->st_value;
}

/* SPDX-License-Identifier: MIT */
#include "routes/symbols.h"

#include <elf.h>
#include <link.h>
#include <string.h>

enum { MAX_DEPTH = 4 }; /* of libraries that were linked to libraries */

/* What is needed of an object's dynamic section. */
struct tables {
	uint64_t base;
	const ElfW(Dyn) *dynamic;
	const ElfW(Sym) *symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const char *soname;
};

static const void *address_in(uint64_t base, uint64_t value)
{
	/* glibc has added the base to these entries already, except where the section is read-only. */
	return (const void *)(value < base ? base + value : value);
}

static bool read_tables(const struct dl_phdr_info *info, struct tables *ret_tables)
{
	uint64_t soname = 0;

	memset(ret_tables, 0, sizeof(*ret_tables));
	ret_tables->base = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			ret_tables->dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (!ret_tables->dynamic)
		return false;
	for (const ElfW(Dyn) *entry = ret_tables->dynamic; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			ret_tables->symbols = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRTAB)
			ret_tables->names = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_GNU_HASH)
			ret_tables->gnu_hash = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_HASH)
			ret_tables->sysv_hash = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_SONAME)
			soname = entry->d_un.d_val;
	}
	if (!ret_tables->symbols || !ret_tables->names)
		return false;
	ret_tables->soname = soname ? ret_tables->names + soname : NULL;
	return true;
}

static void *value_if_named(const struct tables *tables, uint32_t index, const char *symbol)
{
	const ElfW(Sym) *entry = &tables->symbols[index];

	if (entry->st_shndx == SHN_UNDEF || !entry->st_value || strcmp(tables->names + entry->st_name, symbol) != 0)
		return NULL;
	/* A resolver is no function of that type; data is looked up by nobody here. */
	if (ELF64_ST_TYPE(entry->st_info) == STT_GNU_IFUNC || ELF64_ST_TYPE(entry->st_info) == STT_TLS)
		return NULL;
	return (void *)(tables->base + entry->st_value);
}

static void *find_by_gnu_hash(const struct tables *tables, const char *symbol)
{
	const uint32_t *hash = tables->gnu_hash;
	uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2], wanted = 5381;
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(hash + 4) + bloom_words);
	const uint32_t *chain = bucket + buckets;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++)
		wanted = wanted * 33 + *at;
	if (!buckets)
		return NULL;
	for (uint32_t index = bucket[wanted % buckets]; index >= first && index; index++) {
		uint32_t entry = chain[index - first];
		void *value = (entry | 1) == (wanted | 1) ? value_if_named(tables, index, symbol) : NULL;

		if (value || (entry & 1))
			return value;
	}
	return NULL;
}

static void *find_by_sysv_hash(const struct tables *tables, const char *symbol)
{
	uint32_t buckets = tables->sysv_hash[0], wanted = 0;
	const uint32_t *bucket = tables->sysv_hash + 2, *chain = bucket + buckets;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++) {
		wanted = (wanted << 4) + *at;
		wanted ^= (wanted >> 24) & 0xf0;
		wanted &= 0x0fffffff;
	}
	for (uint32_t index = buckets ? bucket[wanted % buckets] : 0; index; index = chain[index]) {
		void *value = value_if_named(tables, index, symbol);

		if (value)
			return value;
	}
	return NULL;
}

static void *find_in(const struct tables *tables, const char *symbol)
{
	if (tables->gnu_hash)
		return find_by_gnu_hash(tables, symbol);
	return tables->sysv_hash ? find_by_sysv_hash(tables, symbol) : NULL;
}

static bool is_self(const struct tables *tables)
{
	uint64_t address = (uint64_t)tables->dynamic;

	return address >= gmt_object_self()->start && address < gmt_object_self()->end;
}

struct search_any {
	const char *const *prefixes;
	const char *symbol;
	void *found;
};

static int look_in_any(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search_any *search = argument;
	struct tables tables;
	bool wanted = !search->prefixes;

	(void)size;
	for (const char *const *prefix = search->prefixes; prefix && *prefix; prefix++)
		wanted = wanted || gmt_path_names(info->dlpi_name, *prefix);
	if (wanted && read_tables(info, &tables) && !is_self(&tables))
		search->found = find_in(&tables, search->symbol);
	return search->found != NULL;
}

void *gmt_symbol_in(const char *const *prefixes, const char *symbol)
{
	struct search_any search = { .prefixes = prefixes, .symbol = symbol };

	gmt_objects_visit(look_in_any, &search);
	return search.found;
}

/* One object: that in this range, or that with this name. */
struct search_object {
	uint64_t start;
	uint64_t end; /* 0: by name */
	const char *name;
	struct tables tables;
	bool found;
};

static int look_for_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search_object *search = argument;
	struct tables tables;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!read_tables(info, &tables))
		return 0;
	if (search->end)
		search->found = (uint64_t)tables.dynamic >= search->start && (uint64_t)tables.dynamic < search->end;
	else
		search->found = (tables.soname && strcmp(tables.soname, search->name) == 0) ||
			strcmp(slash ? slash + 1 : info->dlpi_name, search->name) == 0;
	if (search->found)
		search->tables = tables;
	return search->found;
}

static void *find_in_tree(const struct tables *tables, const char *symbol, int depth)
{
	void *found = is_self(tables) ? NULL : find_in(tables, symbol);

	if (found || depth == MAX_DEPTH)
		return found;
	for (const ElfW(Dyn) *entry = tables->dynamic; entry->d_tag != DT_NULL && !found; entry++) {
		if (entry->d_tag != DT_NEEDED)
			continue;

		struct search_object needed = { .name = tables->names + entry->d_un.d_val };
		gmt_objects_visit(look_for_object, &needed);
		if (needed.found)
			found = find_in_tree(&needed.tables, symbol, depth + 1);
	}
	return found;
}

void *gmt_symbol_in_scope_of(const struct gmt_object *object, const char *symbol)
{
	struct search_object start = { .start = object->start, .end = object->end };

	gmt_objects_visit(look_for_object, &start);
	return start.found ? find_in_tree(&start.tables, symbol, 0) : NULL;
}

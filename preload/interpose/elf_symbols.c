/* SPDX-License-Identifier: MIT */
#include "interpose/elf_symbols.h"

#include <elf.h>
#include <link.h>

#include "interpose/dynsym.h"

enum { MAX_DEPTH = 4 }; /* of dependencies of dependencies */

static const void *address_in(uint64_t base, uint64_t value)
{
	/* glibc has already added the base to these entries, unless the section is read-only. */
	return (const void *)(value < base ? base + value : value);
}

bool gmt_symbol_tables_read(const struct dl_phdr_info *info, struct gmt_symbol_tables *ret_tables)
{
	const void *dynamic = NULL;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return dynamic && gmt_symbol_tables_read_at(info->dlpi_addr, dynamic, ret_tables);
}

bool gmt_symbol_tables_read_at(uint64_t base, const void *dynamic,
	struct gmt_symbol_tables *ret_tables)
{
	uint64_t soname = 0;

	*ret_tables = (struct gmt_symbol_tables){ .base = base, .dynamic = dynamic };
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

static bool is_definition(const struct gmt_symbol_tables *tables, uint32_t index,
	const char *symbol)
{
	const ElfW(Sym) *entry = &tables->symbols[index];

	if (entry->st_shndx == SHN_UNDEF || !entry->st_value ||
		!gmt_same_text(tables->names + entry->st_name, symbol))
		return false;
	/*
	 * An IFUNC symbol is a resolver and not the function itself. A TLS symbol is data; data is
	 * never looked up here.
	 */
	return ELF64_ST_TYPE(entry->st_info) != STT_GNU_IFUNC &&
		ELF64_ST_TYPE(entry->st_info) != STT_TLS;
}

/* The parts of a GNU hash table. */
struct gnu_hash {
	const ElfW(Addr) * filter; /* a power of two of words: two bits per symbol */
	uint32_t filter_words;
	uint32_t filter_shift;
	uint32_t bucket_count;
	uint32_t first; /* symbols before this index are not in the table */
	const uint32_t *buckets;
	const uint32_t *chain;
};

static struct gnu_hash open_gnu_hash(const uint32_t *hash)
{
	struct gnu_hash opened = { .bucket_count = hash[0], .first = hash[1] };

	opened.filter = (const ElfW(Addr) *)(hash + 4);
	opened.filter_words = hash[2];
	opened.filter_shift = hash[3];
	opened.buckets = (const uint32_t *)(opened.filter + opened.filter_words);
	opened.chain = opened.buckets + opened.bucket_count;
	return opened;
}

/* Returns false if no symbol has that hash. Most objects have none of the wanted names. */
static bool may_have(const struct gnu_hash *hash, uint32_t wanted)
{
	enum { BITS = 8 * sizeof(ElfW(Addr)) };
	ElfW(Addr) both =
		(ElfW(Addr))1 << wanted % BITS | (ElfW(Addr))1 << (wanted >> hash->filter_shift) % BITS;

	return !hash->filter_words || (hash->filter[wanted / BITS % hash->filter_words] & both) == both;
}

typedef int visit_function(const ElfW(Sym) * entry, void *argument);

static int visit_by_gnu_hash(const struct gmt_symbol_tables *tables, const char *symbol,
	visit_function *visit, void *argument)
{
	struct gnu_hash hash = open_gnu_hash(tables->gnu_hash);
	uint32_t wanted = 5381;
	int result = 0;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++)
		wanted = wanted * 33 + *at;
	if (!hash.bucket_count || !may_have(&hash, wanted))
		return 0;
	for (uint32_t index = hash.buckets[wanted % hash.bucket_count]; index >= hash.first && index;
		index++) {
		uint32_t entry = hash.chain[index - hash.first];

		if ((entry | 1) == (wanted | 1) && is_definition(tables, index, symbol))
			result = visit(&tables->symbols[index], argument);
		if (result || (entry & 1))
			return result;
	}
	return 0;
}

static int visit_by_sysv_hash(const struct gmt_symbol_tables *tables, const char *symbol,
	visit_function *visit, void *argument)
{
	uint32_t buckets = tables->sysv_hash[0], wanted = 0;
	const uint32_t *bucket = tables->sysv_hash + 2, *chain = bucket + buckets;
	int result = 0;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++) {
		wanted = (wanted << 4) + *at;
		wanted ^= (wanted >> 24) & 0xf0;
		wanted &= 0x0fffffff;
	}
	for (uint32_t index = buckets ? bucket[wanted % buckets] : 0; index && !result;
		index = chain[index])
		if (is_definition(tables, index, symbol))
			result = visit(&tables->symbols[index], argument);
	return result;
}

int gmt_symbol_visit(const struct gmt_symbol_tables *tables, const char *symbol,
	visit_function *visit, void *argument)
{
	if (tables->gnu_hash)
		return visit_by_gnu_hash(tables, symbol, visit, argument);
	return tables->sysv_hash ? visit_by_sysv_hash(tables, symbol, visit, argument) : 0;
}

static int take_first(const ElfW(Sym) * entry, void *argument)
{
	*(const ElfW(Sym) **)argument = entry;
	return 1;
}

static void *find_in(const struct gmt_symbol_tables *tables, const char *symbol)
{
	const ElfW(Sym) *entry = NULL;

	gmt_symbol_visit(tables, symbol, take_first, &entry);
	return entry ? (void *)(tables->base + entry->st_value) : NULL;
}

/* Returns the driver's own function if its table has a wrapper. */
static void *find_original_in(const struct gmt_symbol_tables *tables, const char *symbol)
{
	return gmt_dynsym_undo(find_in(tables, symbol), symbol);
}

/* The hash tables contain only definitions, no references. But they show where the symbols end. */
static uint32_t count_symbols(const struct gmt_symbol_tables *tables)
{
	uint32_t last = 0;

	if (!tables->gnu_hash)
		return tables->sysv_hash ? tables->sysv_hash[1] : 0;

	struct gnu_hash hash = open_gnu_hash(tables->gnu_hash);

	for (uint32_t i = 0; i < hash.bucket_count; i++)
		last = hash.buckets[i] > last ? hash.buckets[i] : last;
	/* Without any definition, `first` is the index where definitions would begin. */
	if (last < hash.first)
		return hash.first;
	while (!(hash.chain[last - hash.first] & 1))
		last++;
	return last + 1;
}

static bool refers_to(const struct gmt_symbol_tables *tables, const char *symbol)
{
	uint32_t count = count_symbols(tables);

	for (uint32_t i = 1; i < count; i++)
		if (tables->symbols[i].st_shndx == SHN_UNDEF &&
			gmt_same_text(tables->names + tables->symbols[i].st_name, symbol))
			return true;
	return false;
}

static bool is_self(const struct gmt_symbol_tables *tables)
{
	uint64_t address = (uint64_t)tables->dynamic;

	return address >= gmt_object_self()->start && address < gmt_object_self()->end;
}

struct search_any {
	const char *const *prefixes;
	const char *symbol;
	void *found;
};

static int visit_any_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search_any *search = argument;
	struct gmt_symbol_tables tables;
	bool wanted = !search->prefixes;

	(void)size;
	for (const char *const *prefix = search->prefixes; prefix && *prefix; prefix++)
		wanted = wanted || gmt_path_name_begins_with(info->dlpi_name, *prefix);
	if (wanted && gmt_symbol_tables_read(info, &tables) && !is_self(&tables))
		search->found = find_original_in(&tables, search->symbol);
	return search->found != NULL;
}

void *gmt_symbol_in(const char *const *prefixes, const char *symbol)
{
	struct search_any search = { .prefixes = prefixes, .symbol = symbol };

	gmt_objects_visit(visit_any_object, &search);
	return search.found;
}

/* A search for the object in this address range, or for the object with this name. */
struct search_object {
	uint64_t start;
	uint64_t end; /* 0: search by name */
	const char *name;
	struct gmt_symbol_tables tables;
	bool found;
};

static int visit_named_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search_object *search = argument;
	struct gmt_symbol_tables tables;

	(void)size;
	if (!gmt_symbol_tables_read(info, &tables))
		return 0;
	if (search->end)
		search->found =
			(uint64_t)tables.dynamic >= search->start && (uint64_t)tables.dynamic < search->end;
	else
		search->found = (tables.soname && gmt_same_text(tables.soname, search->name)) ||
			gmt_same_text(gmt_path_name(info->dlpi_name), search->name);
	if (search->found)
		search->tables = tables;
	return search->found;
}

static void *find_in_tree(const struct gmt_symbol_tables *tables, const char *symbol, int depth)
{
	void *found = is_self(tables) ? NULL : find_original_in(tables, symbol);

	if (found || depth == MAX_DEPTH)
		return found;
	for (const ElfW(Dyn) *entry = tables->dynamic; entry->d_tag != DT_NULL && !found; entry++) {
		if (entry->d_tag != DT_NEEDED)
			continue;

		struct search_object needed = { .name = tables->names + entry->d_un.d_val };
		gmt_objects_visit(visit_named_object, &needed);
		if (needed.found)
			found = find_in_tree(&needed.tables, symbol, depth + 1);
	}
	return found;
}

void *gmt_symbol_in_scope_of(const struct gmt_object *object, const char *symbol)
{
	struct search_object start = { .start = object->start, .end = object->end };

	gmt_objects_visit(visit_named_object, &start);
	return start.found ? find_in_tree(&start.tables, symbol, 0) : NULL;
}

void *gmt_symbol_in_library(const char *soname, const char *symbol)
{
	struct search_object library = { .name = soname };

	gmt_objects_visit(visit_named_object, &library);
	return library.found ? find_in(&library.tables, symbol) : NULL;
}

bool gmt_symbol_is_defined_by(const struct gmt_object *object, const char *symbol)
{
	struct search_object search = { .start = object->start, .end = object->end };

	gmt_objects_visit(visit_named_object, &search);
	return search.found && find_in(&search.tables, symbol);
}

bool gmt_symbol_is_referenced_by(const struct gmt_object *object, const char *symbol)
{
	struct search_object search = { .start = object->start, .end = object->end };

	gmt_objects_visit(visit_named_object, &search);
	return search.found && refers_to(&search.tables, symbol);
}

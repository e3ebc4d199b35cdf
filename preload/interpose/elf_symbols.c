/* SPDX-License-Identifier: MIT */
#include "interpose/elf_symbols.h"

#include <elf.h>
#include <link.h>

#include "interpose/elf_tables.h"
#include "interpose/patched_originals.h"

enum { MAX_DEPTH = 4 }; /* levels of dependencies that a search follows */

static int take_first(const ElfW(Sym) * entry, void *argument)
{
	*(const ElfW(Sym) **)argument = entry;
	return 1;
}

static void *find_in(const struct gmt_elf_tables *tables, const char *symbol)
{
	const ElfW(Sym) *entry = NULL;

	gmt_elf_tables_visit(tables, symbol, take_first, &entry);
	return entry ? (void *)(tables->base + entry->st_value) : NULL;
}

/* Same as above, but returns the driver's own function where its table has a wrapper. */
static void *find_original_in(const struct gmt_elf_tables *tables, const char *symbol)
{
	return gmt_patched_originals_undo(find_in(tables, symbol), symbol);
}

static bool refers_to(const struct gmt_elf_tables *tables, const char *symbol)
{
	uint32_t count = gmt_elf_tables_symbol_count(tables);

	for (uint32_t i = 1; i < count; i++)
		if (tables->symbols[i].st_shndx == SHN_UNDEF &&
			gmt_same_text(tables->names + tables->symbols[i].st_name, symbol))
			return true;
	return false;
}

static bool is_self(const struct gmt_elf_tables *tables)
{
	return gmt_object_self_has((uint64_t)tables->dynamic);
}

struct search_any {
	const char *const *prefixes;
	const char *symbol;
	void *found;
};

static int visit_any_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search_any *search = argument;
	struct gmt_elf_tables tables;
	bool wanted = !search->prefixes;

	(void)size;
	for (const char *const *prefix = search->prefixes; prefix && *prefix; prefix++)
		wanted = wanted || gmt_path_name_begins_with(info->dlpi_name, *prefix);
	if (wanted && gmt_elf_tables_read(info, &tables) && !is_self(&tables))
		search->found = find_original_in(&tables, search->symbol);
	return search->found != NULL;
}

void *gmt_elf_symbol_in_objects(const char *const *prefixes, const char *symbol)
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
	struct gmt_elf_tables tables;
	bool found;
};

static int visit_wanted_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search_object *search = argument;
	struct gmt_elf_tables tables;

	(void)size;
	if (!gmt_elf_tables_read(info, &tables))
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

/* Finds `symbol` in an object and its dependencies. */
static void *find_in_dependencies(const struct gmt_elf_tables *tables, const char *symbol,
	int depth)
{
	void *found = is_self(tables) ? NULL : find_original_in(tables, symbol);

	if (found || depth == MAX_DEPTH)
		return found;
	for (const ElfW(Dyn) *entry = tables->dynamic; entry->d_tag != DT_NULL && !found; entry++) {
		if (entry->d_tag != DT_NEEDED)
			continue;

		struct search_object needed = { .name = tables->names + entry->d_un.d_val };
		gmt_objects_visit(visit_wanted_object, &needed);
		if (needed.found)
			found = find_in_dependencies(&needed.tables, symbol, depth + 1);
	}
	return found;
}

void *gmt_elf_symbol_in_scope_of(const struct gmt_object *object, const char *symbol)
{
	struct search_object start = { .start = object->start, .end = object->end };

	gmt_objects_visit(visit_wanted_object, &start);
	return start.found ? find_in_dependencies(&start.tables, symbol, 0) : NULL;
}

void *gmt_elf_symbol_in_library(const char *soname, const char *symbol)
{
	struct search_object library = { .name = soname };

	gmt_objects_visit(visit_wanted_object, &library);
	return library.found ? find_in(&library.tables, symbol) : NULL;
}

bool gmt_elf_symbol_is_defined_by(const struct gmt_object *object, const char *symbol)
{
	struct search_object search = { .start = object->start, .end = object->end };

	gmt_objects_visit(visit_wanted_object, &search);
	return search.found && find_in(&search.tables, symbol);
}

bool gmt_elf_symbol_is_referenced_by(const struct gmt_object *object, const char *symbol)
{
	struct search_object search = { .start = object->start, .end = object->end };

	gmt_objects_visit(visit_wanted_object, &search);
	return search.found && refers_to(&search.tables, symbol);
}

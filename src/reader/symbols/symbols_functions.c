/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_functions.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "containers/bisect.h"
#include "base/pages.h"

enum {
	LOOK_BACK = 32, /* functions to search backward: small functions may lie inside a larger one */
	MAX_CELLS = 1 << 16,
	MIN_SHIFT = 8,
	MAX_READS = 24, /* after that, all functions are kept */
	ORDER_INDEX_BITS = 29, /* below the rank */
	MAX_SYMBOLS = 1 << ORDER_INDEX_BITS,
};

/*
 * The byte of a cell: two flags, and the number of functions that begin in the cell. LOOK_BACK
 * stands for that many or more.
 */
enum { CELL_COUNT = 0x3f, CELL_KEPT = 0x40, CELL_EXPECTED = 0x80 };

/* A section with symbols, as libelf returns it: in this machine's byte order. */
struct section {
	const uint8_t *bytes;
	size_t count;
	uint32_t names;
	bool is_64;
};

struct symbol {
	uint64_t value, size_bytes;
	uint32_t name;
	uint16_t section;
	uint8_t info;
};

/* As in the file, where symbols may be unaligned. */
struct symbol_32 {
	Elf32_Sym is;
} __attribute__((packed));

struct symbol_64 {
	Elf64_Sym is;
} __attribute__((packed));

#define SYMBOL_OF(is) \
	((struct symbol){ (is).st_value, (is).st_size, (is).st_name, (is).st_shndx, (is).st_info })

/* `is_64` is a property of the section. Callers pass a constant, so that the loop has no branch. */
static inline __attribute__((always_inline)) struct symbol symbol_at(const struct section *section,
	size_t index, bool is_64)
{
	if (is_64)
		return SYMBOL_OF(((const struct symbol_64 *)section->bytes)[index].is);
	return SYMBOL_OF(((const struct symbol_32 *)section->bytes)[index].is);
}

static inline bool is_function(const struct symbol *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->section != SHN_UNDEF &&
		symbol->value;
}

static uint32_t rank_of(const struct symbol *symbol)
{
	unsigned binding = ELF64_ST_BIND(symbol->info);

	return (symbol->size_bytes != 0) * 4u +
		(binding == STB_GLOBAL        ? 2
				: binding == STB_WEAK ? 1
									  : 0);
}

static inline uint8_t *cell_of(const struct gmt_symbols_cells *cells, uint64_t address)
{
	return &cells->bytes[(address < cells->end ? address : cells->end) >> cells->shift];
}

/* Returns whether the candidates for an address have been read. */
static bool is_read(const struct gmt_symbols_functions *functions, uint64_t address)
{
	return functions->cells.bytes && *cell_of(&functions->cells, address) & CELL_EXPECTED;
}

/* Returns false when out of memory. */
static bool store_function(struct gmt_symbols_functions *functions, const struct section *section,
	size_t index)
{
	struct symbol symbol = symbol_at(section, index, section->is_64);
	struct gmt_symbols_function *function;

	if (!is_function(&symbol))
		return true;
	function = gmt_vec_push(&functions->items);
	if (!function)
		return false;
	*function = (struct gmt_symbols_function){
		.start = symbol.value,
		.size_bytes = symbol.size_bytes < UINT32_MAX ? (uint32_t)symbol.size_bytes : UINT32_MAX,
		.order = rank_of(&symbol) << ORDER_INDEX_BITS | (uint32_t)index,
		.name = symbol.name,
		.names = section->names,
	};
	return true;
}

/*
 * Copies the cells' fields out of `functions`. Otherwise the compiler must reload them after each
 * write to a cell, because the write could change them.
 */
static inline __attribute__((always_inline)) bool store_all(struct gmt_symbols_functions *functions,
	const struct section *section, bool is_64)
{
	const struct gmt_symbols_cells cells = functions->cells;

	for (size_t i = 0; i < section->count; i++)
		if (*cell_of(&cells, symbol_at(section, i, is_64).value) & CELL_KEPT &&
			!store_function(functions, section, i))
			return false;
	return true;
}

static inline __attribute__((always_inline)) void count_all(
	const struct gmt_symbols_functions *functions, const struct section *section, bool is_64)
{
	const struct gmt_symbols_cells cells = functions->cells;

	for (size_t i = 0; i < section->count; i++) {
		struct symbol symbol = symbol_at(section, i, is_64);

		if (is_function(&symbol)) {
			uint8_t *cell = cell_of(&cells, symbol.value);

			*cell = (uint8_t)(*cell + (*cell < LOOK_BACK));
		}
	}
}

/* Returns false when out of memory. */
static bool visit_section(struct gmt_symbols_functions *functions, const struct section *section,
	bool stores)
{
	if (stores)
		return section->is_64 ? store_all(functions, section, true)
							  : store_all(functions, section, false);
	if (section->is_64)
		count_all(functions, section, true);
	else
		count_all(functions, section, false);
	return true;
}

/* Returns false for a section without symbols, or with too many. */
static bool open_section(Elf *elf, Elf_Scn *scn, uint32_t type, struct section *ret_section)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &header) || header.sh_type != type || !header.sh_entsize)
		return false;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf || data->d_type != ELF_T_SYM)
		return false;
	*ret_section = (struct section){
		.bytes = data->d_buf,
		.names = header.sh_link,
		.is_64 = gelf_getclass(elf) == ELFCLASS64,
	};

	size_t symbol_bytes = ret_section->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	ret_section->count =
		data->d_size / (header.sh_entsize > symbol_bytes ? header.sh_entsize : symbol_bytes);
	return ret_section->count <= MAX_SYMBOLS;
}

static bool visit_sections(struct gmt_symbols_functions *functions, Elf *elf, uint32_t type,
	bool stores)
{
	struct section section;
	Elf_Scn *scn = NULL;
	bool done = true;

	while (done && (scn = elf_nextscn(elf, scn)))
		if (open_section(elf, scn, type, &section))
			done = visit_section(functions, &section, stores);
	return done;
}

/*
 * Marks the cells to keep. The function at an address begins in the address's cell, or is one of
 * the LOOK_BACK functions before the cell.
 */
static void choose_cells(struct gmt_symbols_functions *functions)
{
	const struct gmt_symbols_cells *cells = &functions->cells;
	unsigned needed = 0;

	for (size_t i = 0; i < functions->expected.count; i++)
		*cell_of(cells, functions->expected.items[i]) |= CELL_EXPECTED;
	for (size_t i = cells->count; i-- > 0;) {
		unsigned begin_here = cells->bytes[i] & CELL_COUNT;

		if (cells->bytes[i] & CELL_EXPECTED)
			needed = LOOK_BACK;
		else if (needed)
			needed -= begin_here < needed ? begin_here : needed;
		else
			continue;
		cells->bytes[i] |= CELL_KEPT;
	}
}

/* Makes one cell for all addresses, or as many cells as are useful. */
static bool make_cells(struct gmt_symbols_cells *cells, bool is_one, uint64_t end)
{
	gmt_pages_free(cells->bytes, cells->count);
	cells->end = is_one ? 0 : end;
	cells->shift = MIN_SHIFT;
	while (cells->end >> cells->shift >= MAX_CELLS)
		cells->shift++;
	cells->count = (size_t)(cells->end >> cells->shift) + 1;
	cells->bytes = gmt_pages_grow(NULL, 0, cells->count);
	return cells->bytes;
}

static int by_start(const void *left, const void *right)
{
	const struct gmt_symbols_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Returns whether all functions of the table have been kept. */
static bool is_whole(const struct gmt_symbols_functions *functions)
{
	return functions->cells.count == 1;
}

/* Reads the candidates for the announced addresses, or all functions. */
static void read_table(struct gmt_symbols_functions *functions, Elf *elf, uint32_t type,
	uint64_t end, bool reads_all)
{
	functions->reads++;
	functions->items.count = 0;
	if (!make_cells(&functions->cells, reads_all, end))
		return;
	if (is_whole(functions)) {
		functions->cells.bytes[0] = CELL_KEPT | CELL_EXPECTED;
	} else {
		visit_sections(functions, elf, type, false);
		choose_cells(functions);
	}
	if (!visit_sections(functions, elf, type, true))
		functions->items.count = 0;
	if (functions->items.count)
		qsort(functions->items.items, functions->items.count, sizeof(*functions->items.items),
			by_start);
}

bool gmt_symbols_functions_expect(struct gmt_symbols_functions *functions, uint64_t address)
{
	uint64_t *slot;

	if (is_read(functions, address))
		return true;
	slot = gmt_vec_push(&functions->expected);
	if (slot)
		*slot = address;
	return slot;
}

/* Returns how many functions begin at or before the address. */
static size_t count_begun(const struct gmt_symbols_functions *functions, uint64_t address)
{
	return GMT_BISECT(at, functions->items.count, functions->items.items[at].start <= address);
}

/*
 * Finds the function at an address. Returns false if the result is uncertain: functions without a
 * name do not count, so one of the LOOK_BACK candidates may be missing. No linker makes such
 * functions.
 */
static bool look_up(const struct gmt_symbols_functions *functions, Elf *elf, uint64_t address,
	const char **ret_name)
{
	unsigned passed = 0;

	*ret_name = NULL;
	for (size_t left = count_begun(functions, address); left && passed < LOOK_BACK; left--) {
		const struct gmt_symbols_function *function = &functions->items.items[left - 1];
		const char *name = elf_strptr(elf, function->names, function->name);

		if (!name || !*name) {
			if (!is_whole(functions))
				return false;
			continue;
		}
		if (address - function->start < function->size_bytes ||
			(!passed && !function->size_bytes)) {
			*ret_name = name;
			return true;
		}
		passed++;
	}
	return true;
}

const char *gmt_symbols_functions_find(struct gmt_symbols_functions *functions, struct Elf *elf,
	uint32_t type, uint64_t end, uint64_t address)
{
	const char *name;

	if (!is_read(functions, address)) {
		bool is_known = gmt_symbols_functions_expect(functions, address);

		read_table(functions, elf, type, end, !is_known || functions->reads >= MAX_READS);
	}
	if (!look_up(functions, elf, address, &name)) {
		read_table(functions, elf, type, end, true);
		look_up(functions, elf, address, &name);
	}
	return name;
}

void gmt_symbols_functions_fini(struct gmt_symbols_functions *functions)
{
	gmt_vec_fini(&functions->expected);
	gmt_vec_fini(&functions->items);
	gmt_pages_free(functions->cells.bytes, functions->cells.count);
	functions->cells.bytes = NULL;
}

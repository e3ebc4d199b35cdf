/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>

#include "containers/bisect.h"
#include "containers/map.h"
#include "base/pages.h"
#include "containers/vec.h"

/* Addresses that belong to a unit or to a function. */
struct range {
	uint64_t start;
	uint64_t end;
	uint64_t die; /* offset of the DIE; in the ranges of all units: index of the unit */
};

struct unit {
	Dwarf_Off die;
	bool functions_listed, ranges_listed;
	GMT_VEC(struct range) functions; /* sorted */
	/* sorted; of the unit itself, if it was found by the file's table */
	GMT_VEC(struct range) ranges;
};

struct gmt_symbols_dwarf {
	Dwarf *dwarf;
	Dwarf_Aranges *aranges; /* NULL: the file has no such table */
	GMT_VEC(struct unit) units; /* the units that were needed, or all units */
	struct gmt_map places;      /* from the offset of a unit's DIE to its index */
	bool all_listed;
	GMT_VEC(struct range) ranges; /* of all units, sorted */
};

enum { MAX_NESTING = 64 }; /* of scopes; a damaged file must not exhaust the stack */

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static const struct range *find_range(const struct range *ranges, size_t count, uint64_t address)
{
	size_t begun = GMT_BISECT(at, count, ranges[at].start <= address);

	return begun && address < ranges[begun - 1].end ? &ranges[begun - 1] : NULL;
}

/* Appends the ranges of `die`, with `value`, to a GMT_VEC(struct range). */
static void add_ranges(struct range **items, size_t *count, size_t *capacity, Dwarf_Die *die,
	uint64_t value)
{
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start < end &&
			gmt_vec_reserve_bytes((void **)items, capacity, *count, 1, sizeof(**items)))
			(*items)[(*count)++] = (struct range){ start, end, value };
}

#define ADD_RANGES(vec, die, value) \
	add_ranges(&(vec)->items, &(vec)->count, &(vec)->capacity, (die), (value))

static void sort_ranges(struct range *items, size_t count)
{
	if (count)
		qsort(items, count, sizeof(*items), by_start);
}

#define SORT_RANGES(vec) sort_ranges((vec)->items, (vec)->count)

/* Returns whether this is a unit with its own code, not a piece that other units import. */
static bool is_unit(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_compile_unit;
}

/* Finds or makes the unit with this DIE. Returns false when out of memory. */
static bool get_unit(struct gmt_symbols_dwarf *dwarf, Dwarf_Off die, size_t *ret_index)
{
	uint64_t index = dwarf->units.count;
	struct unit *unit;

	if (!gmt_map_find(&dwarf->places, die, &index)) {
		if (!gmt_vec_reserve(&dwarf->units, 1) || !gmt_map_put(&dwarf->places, die, index))
			return false;
		unit = gmt_vec_push(&dwarf->units);
		unit->die = die;
	}
	*ret_index = index;
	return true;
}

static void list_units(struct gmt_symbols_dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes, index;

	while (dwarf_nextcu(dwarf->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) == 0) {
		Dwarf_Die die;

		if (dwarf_offdie(dwarf->dwarf, at + header_bytes, &die) && is_unit(&die)) {
			if (!get_unit(dwarf, dwarf_dieoffset(&die), &index))
				break;
			ADD_RANGES(&dwarf->ranges, &die, index);
		}
		at = next;
	}
	SORT_RANGES(&dwarf->ranges);
}

static bool has_address(struct unit *unit, Dwarf_Die *die, uint64_t address)
{
	if (!unit->ranges_listed) {
		unit->ranges_listed = true;
		ADD_RANGES(&unit->ranges, die, 0);
		SORT_RANGES(&unit->ranges);
	}
	return find_range(unit->ranges.items, unit->ranges.count, address);
}

/*
 * Finds a unit in the file's own address table. The table may be wrong, so the unit's ranges are
 * checked.
 */
static struct unit *find_in_table(struct gmt_symbols_dwarf *dwarf, uint64_t address,
	Dwarf_Die *ret_die)
{
	Dwarf_Arange *arange = dwarf->aranges ? dwarf_getarange_addr(dwarf->aranges, address) : NULL;
	Dwarf_Off offset;
	size_t index;

	if (!arange || dwarf_getarangeinfo(arange, NULL, NULL, &offset) ||
		!dwarf_offdie(dwarf->dwarf, offset, ret_die) || !is_unit(ret_die) ||
		!get_unit(dwarf, dwarf_dieoffset(ret_die), &index))
		return NULL;
	return has_address(&dwarf->units.items[index], ret_die, address) ? &dwarf->units.items[index]
																	 : NULL;
}

/*
 * Returns the unit that contains the address, or NULL. If the table lacks the address, this reads
 * all units, which may be thousands.
 */
static struct unit *find_unit(struct gmt_symbols_dwarf *dwarf, uint64_t address, Dwarf_Die *ret_die)
{
	struct unit *unit = find_in_table(dwarf, address, ret_die);
	const struct range *range;

	if (unit)
		return unit;
	if (!dwarf->all_listed) {
		dwarf->all_listed = true;
		list_units(dwarf);
	}
	range = find_range(dwarf->ranges.items, dwarf->ranges.count, address);
	unit = range ? &dwarf->units.items[range->die] : NULL;
	return unit && dwarf_offdie(dwarf->dwarf, unit->die, ret_die) ? unit : NULL;
}

struct gmt_symbols_dwarf *gmt_symbols_dwarf_open(struct Elf *elf)
{
	struct gmt_symbols_dwarf *dwarf = gmt_pages_grow(NULL, 0, sizeof(*dwarf));
	size_t count;

	if (!dwarf)
		return NULL;
	dwarf->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!dwarf->dwarf) {
		gmt_symbols_dwarf_close(dwarf);
		return NULL;
	}
	if (dwarf_getaranges(dwarf->dwarf, &dwarf->aranges, &count))
		dwarf->aranges = NULL;
	return dwarf;
}

static void list_functions_below(struct unit *unit, Dwarf_Die *parent, unsigned nesting)
{
	Dwarf_Die die;

	if (nesting > MAX_NESTING || dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			ADD_RANGES(&unit->functions, &die, dwarf_dieoffset(&die));
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			list_functions_below(unit, &die, nesting + 1);
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static bool find_function(struct gmt_symbols_dwarf *dwarf, struct unit *unit, uint64_t address,
	Dwarf_Die *ret_die)
{
	Dwarf_Die unit_die;

	if (!unit->functions_listed) {
		unit->functions_listed = true;
		if (dwarf_offdie(dwarf->dwarf, unit->die, &unit_die))
			list_functions_below(unit, &unit_die, 0);
		SORT_RANGES(&unit->functions);
	}

	const struct range *range = find_range(unit->functions.items, unit->functions.count, address);
	return range && dwarf_offdie(dwarf->dwarf, range->die, ret_die);
}

/* Finds the inlined calls at `address` inside `function`, outermost first. */
static size_t find_inlined(const Dwarf_Die *function, uint64_t address, Dwarf_Die *ret_dies,
	size_t limit)
{
	Dwarf_Die parent = *function, die;
	size_t count = 0;

	for (unsigned nesting = 0; nesting < MAX_NESTING && dwarf_child(&parent, &die) == 0;
		nesting++) {
		bool found = false;

		do {
			int tag = dwarf_tag(&die);

			found = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
				dwarf_haspc(&die, address) > 0;
			if (found && tag == DW_TAG_inlined_subroutine && count < limit)
				ret_dies[count++] = die;
		} while (!found && dwarf_siblingof(&die, &die) == 0);
		if (!found)
			break;
		parent = die;
	}
	return count;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ? name : dwarf_diename(die);
}

static void keep_line(Dwarf_Die *unit_die, uint64_t address, struct gmt_symbols_dwarf_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit_die, address);
	int number;

	if (line && dwarf_lineno(line, &number) == 0 && number > 0) {
		frame->line = (uint32_t)number;
		frame->file = dwarf_linesrc(line, NULL, NULL);
	}
}

/* Sets the line where an inlined function was called. It is the line of the enclosing frame. */
static void keep_call_line(Dwarf_Die *unit_die, Dwarf_Die *inlined,
	struct gmt_symbols_dwarf_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_attr(inlined, DW_AT_call_line, &attribute) &&
		dwarf_formudata(&attribute, &value) == 0)
		frame->line = (uint32_t)value;
	if (dwarf_attr(inlined, DW_AT_call_file, &attribute) &&
		dwarf_formudata(&attribute, &value) == 0 &&
		dwarf_getsrcfiles(unit_die, &files, &count) == 0 && value < count)
		frame->file = dwarf_filesrc(files, value, NULL, NULL);
}

size_t gmt_symbols_dwarf_find(struct gmt_symbols_dwarf *dwarf, uint64_t address,
	struct gmt_symbols_dwarf_frame *ret_frames, size_t limit)
{
	Dwarf_Die unit_die, function, inlined[MAX_NESTING];
	struct unit *unit = limit ? find_unit(dwarf, address, &unit_die) : NULL;
	size_t count = 0;

	if (!unit)
		return 0;

	bool has_function = find_function(dwarf, unit, address, &function);
	size_t depth = has_function ? find_inlined(&function, address, inlined, MAX_NESTING) : 0;

	ret_frames[0] = (struct gmt_symbols_dwarf_frame){ 0 };
	keep_line(&unit_die, address, &ret_frames[0]);
	while (depth && count + 1 < limit) {
		Dwarf_Die *call = &inlined[--depth];

		ret_frames[count].function = function_name(call);
		ret_frames[++count] = (struct gmt_symbols_dwarf_frame){ 0 };
		keep_call_line(&unit_die, call, &ret_frames[count]);
	}
	ret_frames[count].function = has_function ? function_name(&function) : NULL;
	return ret_frames[count].function || ret_frames[count].line || count ? count + 1 : 0;
}

void gmt_symbols_dwarf_close(struct gmt_symbols_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->units.count; i++) {
		gmt_vec_fini(&dwarf->units.items[i].functions);
		gmt_vec_fini(&dwarf->units.items[i].ranges);
	}
	gmt_vec_fini(&dwarf->units);
	gmt_map_fini(&dwarf->places);
	gmt_vec_fini(&dwarf->ranges);
	dwarf_end(dwarf->dwarf);
	gmt_pages_free(dwarf, sizeof(*dwarf));
}

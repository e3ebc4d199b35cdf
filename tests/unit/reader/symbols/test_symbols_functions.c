/* SPDX-License-Identifier: MIT */
/* The function at an address, by symbol tables that the tests write. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "reader/symbols/symbols_elf.h"

enum { MAX_SYMBOLS = 4000, TEXT_START = 0x1000, TEXT_BYTES = 0x4000000, MAX_NAMES = 1 << 16 };

#define FUNCTION(binding) ELF64_ST_INFO(binding, STT_FUNC)

/* The file that a test writes, without the symbol 0, which each table has. */
static struct {
	Elf64_Sym symbols[MAX_SYMBOLS];
	size_t count;
	char names[MAX_NAMES];
	size_t name_bytes;
} table;

static char path[64];

static int begin(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	table.count = table.name_bytes = 1;
	strcpy(path, "/tmp/gmt-test-XXXXXX");
	int fd = mkstemp(path);
	return fd < 0 || close(fd);
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

static void add(uint64_t start, uint64_t size_bytes, unsigned info, unsigned section,
	const char *name)
{
	Elf64_Sym *symbol = &table.symbols[table.count++];

	assert_true(table.count <= MAX_SYMBOLS && table.name_bytes + strlen(name) + 1 <= MAX_NAMES);
	*symbol = (Elf64_Sym){ .st_value = start,
		.st_size = size_bytes,
		.st_info = (unsigned char)info,
		.st_shndx = (uint16_t)section };
	if (*name)
		symbol->st_name = (uint32_t)table.name_bytes;
	strcpy(table.names + table.name_bytes, name);
	table.name_bytes += strlen(name) + 1;
}

static void add_function(uint64_t start, uint64_t size_bytes, const char *name)
{
	add(start, size_bytes, FUNCTION(STB_GLOBAL), 1, name);
}

enum { SECTIONS = 4, SYMBOLS_AT = 1024 };

/* Writes the header, the sections, the symbols and their names. */
static struct gmt_symbols_elf *write_file(const void *header, size_t header_bytes,
	const void *sections, size_t sections_bytes, const void *symbols, size_t symbols_bytes)
{
	FILE *file = fopen(path, "w");

	assert_int_equal(fwrite(header, header_bytes, 1, file), 1);
	assert_int_equal(fwrite(sections, sections_bytes, 1, file), 1);
	assert_int_equal(fseek(file, SYMBOLS_AT, SEEK_SET), 0);
	assert_int_equal(fwrite(symbols, symbols_bytes, 1, file), 1);
	assert_int_equal(fwrite(table.names, table.name_bytes, 1, file), 1);
	assert_int_equal(fclose(file), 0);

	struct gmt_symbols_elf *elf = gmt_symbols_elf_open(path);

	assert_non_null(elf);
	return elf;
}

static struct gmt_symbols_elf *write_64(uint32_t type)
{
	size_t bytes = table.count * sizeof(*table.symbols);
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shoff = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
	};
	Elf64_Shdr sections[SECTIONS] = {
		[1] = { .sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = TEXT_START,
			.sh_size = TEXT_BYTES },
		[2] = { .sh_type = type,
			.sh_offset = SYMBOLS_AT,
			.sh_size = bytes,
			.sh_link = 3,
			.sh_entsize = sizeof(Elf64_Sym) },
		[3] = { .sh_type = SHT_STRTAB,
			.sh_offset = SYMBOLS_AT + bytes,
			.sh_size = table.name_bytes },
	};

	return write_file(&header, sizeof(header), sections, sizeof(sections), table.symbols, bytes);
}

static struct gmt_symbols_elf *write_32(void)
{
	static Elf32_Sym symbols[MAX_SYMBOLS];
	size_t bytes = table.count * sizeof(*symbols);
	Elf32_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shoff = sizeof(header),
		.e_shentsize = sizeof(Elf32_Shdr),
		.e_shnum = SECTIONS,
	};
	Elf32_Shdr sections[SECTIONS] = {
		[1] = { .sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = TEXT_START,
			.sh_size = TEXT_BYTES },
		[2] = { .sh_type = SHT_SYMTAB,
			.sh_offset = SYMBOLS_AT,
			.sh_size = (uint32_t)bytes,
			.sh_link = 3,
			.sh_entsize = sizeof(Elf32_Sym) },
		[3] = { .sh_type = SHT_STRTAB,
			.sh_offset = (uint32_t)(SYMBOLS_AT + bytes),
			.sh_size = (uint32_t)table.name_bytes },
	};

	for (size_t i = 0; i < table.count; i++) {
		const Elf64_Sym *from = &table.symbols[i];

		symbols[i] = (Elf32_Sym){ .st_name = from->st_name,
			.st_value = (uint32_t)from->st_value,
			.st_size = (uint32_t)from->st_size,
			.st_info = from->st_info,
			.st_shndx = from->st_shndx };
	}
	return write_file(&header, sizeof(header), sections, sizeof(sections), symbols, bytes);
}

/* Returns the function's name at the address, "" without one. */
static const char *name_at(struct gmt_symbols_elf *elf, uint64_t address)
{
	const char *name = gmt_symbols_elf_find_function(elf, address);

	return name ? name : "";
}

static void among_functions_at_one_address_size_and_strongest_binding_decide(void **state)
{
	(void)state;
	add(0x2000, 0x10, FUNCTION(STB_LOCAL), 1, "local");
	add(0x2000, 0x10, FUNCTION(STB_GLOBAL), 1, "global");
	add(0x2000, 0x20, FUNCTION(STB_WEAK), 1, "weak");
	add(0x2000, 0, FUNCTION(STB_GLOBAL), 1, "unsized");
	add(0x3000, 0x10, FUNCTION(STB_WEAK), 1, "first");
	add(0x3000, 0x10, FUNCTION(STB_WEAK), 1, "last");
	add(0x3000, 0x10, FUNCTION(STB_LOCAL), 1, "local");
	add(0x4000, 0, FUNCTION(STB_GLOBAL), 1, "unsized");
	add(0x4000, 0x10, FUNCTION(STB_LOCAL), 1, "sized");

	struct gmt_symbols_elf *elf = write_64(SHT_SYMTAB);
	assert_string_equal(name_at(elf, 0x2000), "global");
	assert_string_equal(name_at(elf, 0x200f), "global");
	assert_string_equal(name_at(elf, 0x2010), "weak");
	assert_string_equal(name_at(elf, 0x2020), "");
	assert_string_equal(name_at(elf, 0x3008), "last");
	assert_string_equal(name_at(elf, 0x4008), "sized");
	gmt_symbols_elf_close(elf);
}

static void a_function_without_a_size_ends_at_the_next_function(void **state)
{
	(void)state;
	add_function(0x2000, 0, "unsized");
	add_function(0x5000, 0x10, "sized");
	add_function(0x6000, 0x1000, "outer");
	add_function(0x6010, 0, "inner");
	add_function(0x6020, 8, "other");

	struct gmt_symbols_elf *elf = write_64(SHT_SYMTAB);
	assert_string_equal(name_at(elf, 0x1fff), "");
	assert_string_equal(name_at(elf, 0x2000), "unsized");
	assert_string_equal(name_at(elf, 0x4fff), "unsized");
	assert_string_equal(name_at(elf, 0x5010), "");
	assert_string_equal(name_at(elf, 0x601f), "inner");
	assert_string_equal(name_at(elf, 0x6028), "outer");
	assert_string_equal(name_at(elf, TEXT_START + TEXT_BYTES), "");
	assert_string_equal(name_at(elf, UINT64_MAX), "");
	gmt_symbols_elf_close(elf);
}

static void an_address_behind_up_to_31_small_functions_is_in_the_larger_function_around_them(
	void **state)
{
	enum { INNER = 31, INNER_BYTES = 0x4000 };

	(void)state;
	add_function(0x10000, 0x1000000, "outer");
	for (unsigned i = 1; i <= INNER; i++)
		add_function(0x10000 + i * INNER_BYTES, 16, "inner");
	add_function(0x2000000, 0x1000000, "other outer");
	for (unsigned i = 1; i <= INNER + 1; i++)
		add_function(0x2000000 + i * INNER_BYTES, 16, "inner");

	for (int expects = 0; expects < 2; expects++) {
		struct gmt_symbols_elf *elf = write_64(SHT_SYMTAB);
		uint64_t behind = 0x10000 + INNER * INNER_BYTES + 16,
				 too_far = 0x2000000 + (INNER + 1) * INNER_BYTES + 16;

		if (expects) {
			gmt_symbols_elf_expect(elf, too_far);
			gmt_symbols_elf_expect(elf, behind);
		}
		assert_string_equal(name_at(elf, behind - 1), "inner");
		assert_string_equal(name_at(elf, behind), "outer");
		assert_string_equal(name_at(elf, too_far - 17), "other outer");
		assert_string_equal(name_at(elf, too_far), "");
		gmt_symbols_elf_close(elf);
	}
}

static void symbols_that_are_no_functions_of_the_file_are_not_shown(void **state)
{
	(void)state;
	add_function(0x2000, 0x1000, "function");
	add(0x2100, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 1, "object");
	add(0x2200, 0x10, FUNCTION(STB_GLOBAL), SHN_UNDEF, "undefined");
	add(0x2300, 0x10, FUNCTION(STB_GLOBAL), 1, "");
	add(0x2400, 0x10, ELF64_ST_INFO(STB_LOCAL, STT_GNU_IFUNC), 1, "chooser");
	add(0, 0x10000, FUNCTION(STB_GLOBAL), 1, "nowhere");
	for (unsigned i = 0; i < 40; i++)
		add(0x2500 + i, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 1, "label");

	struct gmt_symbols_elf *elf = write_64(SHT_DYNSYM);
	assert_string_equal(name_at(elf, 0x1fff), "");
	assert_string_equal(name_at(elf, 0x2108), "function");
	assert_string_equal(name_at(elf, 0x2208), "function");
	assert_string_equal(name_at(elf, 0x2308), "function");
	assert_string_equal(name_at(elf, 0x2408), "chooser");
	assert_string_equal(name_at(elf, 0x2600), "function");
	gmt_symbols_elf_close(elf);
}

static uint64_t seed;

static uint64_t random_below(uint64_t limit)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % limit;
}

/*
 * Adds thousands of functions of any size. Some share a place, some lie inside others, and their
 * density varies.
 */
static void add_crowd(void)
{
	char name[16];

	seed = 1;
	while (table.count < MAX_SYMBOLS) {
		uint64_t center = TEXT_START + random_below(TEXT_BYTES);

		for (uint64_t left = random_below(90); left && table.count < MAX_SYMBOLS; left--) {
			snprintf(name, sizeof(name), "%zu", table.count);
			add(center + random_below(0x600),
				random_below(5) ? random_below(0x400) : random_below(3) * 0x200000,
				FUNCTION((unsigned)random_below(3)), 1, name);
		}
	}
}

/* Finds the function by the rules, among all symbols. */
static const char *look_at_all(uint64_t address)
{
	static bool seen[MAX_SYMBOLS];

	memset(seen, 0, sizeof(seen));
	for (int back = 0; back < 32; back++) {
		size_t best = 0;

		for (size_t i = 1; i < table.count; i++) {
			const Elf64_Sym *a = &table.symbols[i], *b = &table.symbols[best];
			static const int ranks[] = { [STB_LOCAL] = 0, [STB_GLOBAL] = 2, [STB_WEAK] = 1 };
			int rank_a = (a->st_size != 0) * 4 + ranks[ELF64_ST_BIND(a->st_info)];
			int rank_b = (b->st_size != 0) * 4 + ranks[ELF64_ST_BIND(b->st_info)];

			if (!seen[i] && a->st_value <= address &&
				(!best || a->st_value > b->st_value ||
					(a->st_value == b->st_value && rank_a >= rank_b)))
				best = i;
		}
		if (!best)
			return "";
		seen[best] = true;

		const Elf64_Sym *symbol = &table.symbols[best];
		if (address - symbol->st_value < symbol->st_size || (!back && !symbol->st_size))
			return table.names + symbol->st_name;
	}
	return "";
}

/* Returns a random address. Most of them are in functions. */
static uint64_t any_address(void)
{
	const Elf64_Sym *symbol = &table.symbols[1 + random_below(table.count - 1)];

	return symbol->st_value + random_below(3) * random_below(0x500) - 1;
}

static void check_crowd(struct gmt_symbols_elf *(*write)(void), size_t expected, size_t unexpected)
{
	enum { MOST = 600 };
	struct gmt_symbols_elf *elf = write();
	uint64_t addresses[MOST];
	size_t named = 0;

	assert_true(expected + unexpected <= MOST);
	for (size_t i = 0; i < expected + unexpected; i++) {
		addresses[i] = any_address();
		if (i < expected)
			gmt_symbols_elf_expect(elf, addresses[i]);
	}
	for (size_t i = 0; i < expected + unexpected; i++) {
		const char *name = look_at_all(addresses[i]);

		named += *name != '\0';
		assert_string_equal(name_at(elf, addresses[i]), name);
	}
	assert_true(named * 2 > expected + unexpected);
	gmt_symbols_elf_close(elf);
}

static struct gmt_symbols_elf *write_any(void)
{
	return write_64(SHT_SYMTAB);
}

static void announced_and_unannounced_addresses_get_the_same_name(void **state)
{
	(void)state;
	add_crowd();
	check_crowd(write_any, 20, 0);
	check_crowd(write_any, 300, 0);
	check_crowd(write_any, 10, 5);
	check_crowd(write_any, 0, 100);
	check_crowd(write_32, 200, 20);
}

static void later_addresses_are_named(void **state)
{
	struct gmt_symbols_elf *elf;

	(void)state;
	add_crowd();
	elf = write_any();
	for (int round = 0; round < 40; round++) {
		uint64_t addresses[10];

		for (int i = 0; i < 10; i++)
			gmt_symbols_elf_expect(elf, addresses[i] = any_address());
		for (int i = 0; i < 10; i++)
			assert_string_equal(name_at(elf, addresses[i]), look_at_all(addresses[i]));
	}
	gmt_symbols_elf_close(elf);
}

static void a_function_without_a_name_in_the_file_is_ignored(void **state)
{
	(void)state;
	add_function(0x2000, 0x1000, "outer");
	add_function(0x2100, 0x10, "inner");
	add_function(0x4000, 0, "unsized");
	add_function(0x4100, 0x10, "");
	add_function(0x800000, 0x800000, "large");
	for (unsigned i = 0; i < 100; i++)
		add_function(0x810000 + i * 0x8000, 0x10, i % 4 ? "" : "small");
	table.symbols[2].st_name = UINT32_MAX;

	for (int expects = 0; expects < 2; expects++) {
		struct gmt_symbols_elf *elf = write_64(SHT_SYMTAB);

		if (expects)
			gmt_symbols_elf_expect(elf, 0x810000 + 99 * 0x8000 + 1);
		assert_string_equal(name_at(elf, 0x810000 + 99 * 0x8000 + 1), "large");
		assert_string_equal(name_at(elf, 0x2108), "outer");
		assert_string_equal(name_at(elf, 0x5000), "unsized");
		gmt_symbols_elf_close(elf);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(among_functions_at_one_address_size_and_strongest_binding_decide),
		TEST(a_function_without_a_size_ends_at_the_next_function),
		TEST(an_address_behind_up_to_31_small_functions_is_in_the_larger_function_around_them),
		TEST(symbols_that_are_no_functions_of_the_file_are_not_shown),
		TEST(announced_and_unannounced_addresses_get_the_same_name),
		TEST(later_addresses_are_named),
		TEST(a_function_without_a_name_in_the_file_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

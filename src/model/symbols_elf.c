/* SPDX-License-Identifier: MIT */
#include "model/symbols_elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/pages.h"
#include "base/vec.h"

enum { BUILD_ID_MAX_BYTES = 64 };

struct function {
	uint64_t start;
	uint32_t size_bytes; /* 0: not said, reaches to the next one */
	uint32_t rank;       /* of several at one address the highest is shown */
	const char *name;    /* in the mapped file */
};

struct gmt_elf {
	int fd;
	Elf *elf;
	struct gmt_arena arena;
	const char *path;
	char build_id[BUILD_ID_MAX_BYTES * 2 + 1];
	bool has_symtab, has_lines, refers_further, functions_loaded;
	struct gmt_elf_stamp stamp;
	GMT_VEC(struct function) functions;
};

static void keep_build_id(struct gmt_elf *elf, Elf_Data *data)
{
	GElf_Nhdr note;
	size_t name, description, at = 0;

	if (elf->build_id[0])
		return;
	while ((at = gelf_getnote(data, at, &note, &name, &description))) {
		const uint8_t *id = (const uint8_t *)data->d_buf + description;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
			memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 ||
			note.n_descsz > BUILD_ID_MAX_BYTES)
			continue;
		for (uint32_t i = 0; i < note.n_descsz; i++)
			snprintf(elf->build_id + 2 * i, 3, "%02x", id[i]);
		return;
	}
}

/* What is in the file, by its section headers. */
static void survey(struct gmt_elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf->elf, &names))
		return;
	while ((section = elf_nextscn(elf->elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;

		const char *name = elf_strptr(elf->elf, names, header.sh_name);
		if (header.sh_type == SHT_NOTE) {
			Elf_Data *data = elf_getdata(section, NULL);

			if (data)
				keep_build_id(elf, data);
		}
		if (header.sh_type == SHT_SYMTAB)
			elf->has_symtab = true;
		if (header.sh_type == SHT_PROGBITS && name && strcmp(name, ".debug_line") == 0)
			elf->has_lines = true;
		if (name && strcmp(name, ".gnu_debugaltlink") == 0)
			elf->refers_further = true;
	}
}

static int64_t nanoseconds(const struct timespec *time)
{
	/* Whatever a file system says: it is compared, not counted with. */
	return (int64_t)((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
}

struct gmt_elf_stamp gmt_elf_stamp_of(const struct stat *about)
{
	return (struct gmt_elf_stamp){
		.size_bytes = (uint64_t)about->st_size, .modified_ns = nanoseconds(&about->st_mtim),
		.changed_ns = nanoseconds(&about->st_ctim),
	};
}

struct gmt_elf *gmt_elf_open(const char *path)
{
	struct stat about;
	struct gmt_elf *elf = gmt_pages_grow(NULL, 0, sizeof(*elf));

	if (!elf)
		return NULL;
	elf_version(EV_CURRENT);
	/* A recorded path can be anything, also a pipe that nobody writes to. */
	elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	elf->path = gmt_arena_copy(&elf->arena, path, strlen(path));
	if (elf->path && elf->fd >= 0 && !fstat(elf->fd, &about) && S_ISREG(about.st_mode))
		elf->elf = elf_begin(elf->fd, ELF_C_READ_MMAP, NULL);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF) {
		gmt_elf_close(elf);
		return NULL;
	}
	elf->stamp = gmt_elf_stamp_of(&about);
	survey(elf);
	return elf;
}

const struct gmt_elf_stamp *gmt_elf_stamp(const struct gmt_elf *elf)
{
	return &elf->stamp;
}

const char *gmt_elf_build_id(const struct gmt_elf *elf)
{
	return elf->build_id;
}

const char *gmt_elf_path(const struct gmt_elf *elf)
{
	return elf->path;
}

bool gmt_elf_has_all_functions(const struct gmt_elf *elf)
{
	return elf->has_symtab;
}

bool gmt_elf_has_lines(const struct gmt_elf *elf)
{
	return elf->has_lines;
}

bool gmt_elf_refers_further(const struct gmt_elf *elf)
{
	return elf->refers_further;
}

struct Elf *gmt_elf_handle(const struct gmt_elf *elf)
{
	return elf->elf;
}

static uint32_t rank_of(const GElf_Sym *symbol)
{
	unsigned binding = GELF_ST_BIND(symbol->st_info);

	return (symbol->st_size != 0) * 4u + (binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0);
}

static void add_functions(struct gmt_elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Sym symbol;

	if (count > INT32_MAX || !gmt_vec_reserve(&elf->functions, count))
		return;
	for (size_t i = 0; i < count && gelf_getsym(data, (int)i, &symbol); i++) {
		unsigned type = GELF_ST_TYPE(symbol.st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
			!symbol.st_value)
			continue;

		const char *name = elf_strptr(elf->elf, header->sh_link, symbol.st_name);
		if (!name || !*name)
			continue;
		elf->functions.items[elf->functions.count++] = (struct function){
			.start = symbol.st_value,
			.size_bytes = symbol.st_size < UINT32_MAX ? (uint32_t)symbol.st_size : UINT32_MAX,
			.rank = rank_of(&symbol),
			.name = name,
		};
	}
}

static int by_start(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* The lowest is the rank; the others are the start's, the lower ones first. */
static uint32_t digit_of(const struct function *function, unsigned digit)
{
	return digit ? (uint32_t)(function->start >> ((digit - 1) * DIGIT_BITS)) & (DIGITS - 1) : function->rank;
}

/* In the order of one digit, and as before where it is equal. */
static void sort_by_digit(const struct function *from, struct function *to, size_t count, unsigned digit)
{
	size_t places[DIGITS] = { 0 }, before = 0;

	for (size_t i = 0; i < count; i++)
		places[digit_of(&from[i], digit)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t equal = places[d];

		places[d] = before;
		before += equal;
	}
	for (size_t i = 0; i < count; i++)
		to[places[digit_of(&from[i], digit)]++] = from[i];
}

/* By start and rank. Digit by digit: comparing hundreds of thousands of names took half of a small report's time. */
static void sort_functions(struct function *functions, size_t count)
{
	struct function *spare = gmt_pages_grow(NULL, 0, count * sizeof(*functions)), *from = functions, *to = spare;
	uint64_t all = 0;

	if (!spare) {
		qsort(functions, count, sizeof(*functions), by_start);
		return;
	}
	for (size_t i = 0; i < count; i++)
		all |= functions[i].start;
	for (unsigned digit = 0; !digit || ((digit - 1) * DIGIT_BITS < 64 && all >> ((digit - 1) * DIGIT_BITS)); digit++) {
		struct function *sorted = to;

		sort_by_digit(from, to, count, digit);
		to = from;
		from = sorted;
	}
	if (from != functions)
		memcpy(functions, from, count * sizeof(*functions));
	gmt_pages_free(spare, count * sizeof(*functions));
}

static void load_functions(struct gmt_elf *elf)
{
	/* .symtab has all that .dynsym has; a stripped file has only the latter. */
	uint32_t wanted = elf->has_symtab ? SHT_SYMTAB : SHT_DYNSYM;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	elf->functions_loaded = true;
	while ((section = elf_nextscn(elf->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == wanted)
			add_functions(elf, section, &header);
	if (elf->functions.count)
		sort_functions(elf->functions.items, elf->functions.count);
}

const char *gmt_elf_find_function(struct gmt_elf *elf, uint64_t address)
{
	enum { LOOK_BACK = 32 }; /* over small functions that stand inside a larger one */

	if (!elf->functions_loaded)
		load_functions(elf);

	const struct function *functions = elf->functions.items;
	size_t low = 0, high = elf->functions.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t back = 0; back < LOOK_BACK && back < low; back++) {
		const struct function *function = &functions[low - 1 - back];

		if (address - function->start < function->size_bytes || (!back && !function->size_bytes))
			return function->name;
	}
	return NULL;
}

void gmt_elf_close(struct gmt_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	if (elf->fd >= 0)
		close(elf->fd);
	gmt_vec_fini(&elf->functions);
	gmt_arena_fini(&elf->arena);
	gmt_pages_free(elf, sizeof(*elf));
}

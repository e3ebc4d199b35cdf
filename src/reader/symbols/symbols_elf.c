/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "containers/arena.h"
#include "base/pages.h"
#include "reader/symbols/symbols_interpreter_loop.h"
#include "reader/symbols/symbols_functions.h"

enum { BUILD_ID_MAX_BYTES = 64 };

struct gmt_symbols_elf {
	int fd;
	Elf *elf;
	struct gmt_arena arena;
	const char *path;
	char build_id[BUILD_ID_MAX_BYTES * 2 + 1];
	bool has_symtab, has_lines, has_altlink;
	struct gmt_symbols_elf_stamp stamp;
	uint64_t end; /* of the loaded addresses */
	struct gmt_symbols_functions functions;
	struct gmt_interpreter_loop interpreter_loop;
};

static void keep_build_id(struct gmt_symbols_elf *elf, Elf_Data *data)
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

/* Reads the section headers to find out what the file has. */
static void find_sections(struct gmt_symbols_elf *elf)
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
		if (header.sh_flags & SHF_ALLOC && header.sh_addr + header.sh_size > elf->end)
			elf->end = header.sh_addr + header.sh_size;
		if (header.sh_type == SHT_SYMTAB)
			elf->has_symtab = true;
		if (header.sh_type == SHT_PROGBITS && name && strcmp(name, ".debug_line") == 0)
			elf->has_lines = true;
		if (name && strcmp(name, ".gnu_debugaltlink") == 0)
			elf->has_altlink = true;
	}
}

static int64_t nanoseconds(const struct timespec *time)
{
	/* Overflow does not matter: times are only compared. */
	return (int64_t)((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
}

struct gmt_symbols_elf_stamp gmt_symbols_elf_stamp_of(const struct stat *status)
{
	return (struct gmt_symbols_elf_stamp){
		.size_bytes = (uint64_t)status->st_size,
		.modified_ns = nanoseconds(&status->st_mtim),
		.changed_ns = nanoseconds(&status->st_ctim),
	};
}

/*
 * Closes the descriptor, because the file is mapped. A program has thousands of libraries, but a
 * process may open only 1,024 files. Exception: if the file refers to another file by a relative
 * path, libdw needs the descriptor to find it.
 */
static void close_descriptor(struct gmt_symbols_elf *elf)
{
	if (elf->has_altlink || elf_cntl(elf->elf, ELF_C_FDREAD))
		return;
	close(elf->fd);
	elf->fd = -1;
}

struct gmt_symbols_elf *gmt_symbols_elf_open(const char *path)
{
	struct stat status;
	struct gmt_symbols_elf *elf = gmt_pages_grow(NULL, 0, sizeof(*elf));

	if (!elf)
		return NULL;
	elf_version(EV_CURRENT);
	/* A recorded path may be anything, even a pipe without a writer, so do not block. */
	elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	elf->path = gmt_arena_copy(&elf->arena, path, strlen(path));
	if (elf->path && elf->fd >= 0 && !fstat(elf->fd, &status) && S_ISREG(status.st_mode))
		elf->elf = elf_begin(elf->fd, ELF_C_READ_MMAP, NULL);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF) {
		gmt_symbols_elf_close(elf);
		return NULL;
	}
	elf->stamp = gmt_symbols_elf_stamp_of(&status);
	find_sections(elf);
	close_descriptor(elf);
	return elf;
}

const struct gmt_symbols_elf_stamp *gmt_symbols_elf_stamp(const struct gmt_symbols_elf *elf)
{
	return &elf->stamp;
}

const char *gmt_symbols_elf_build_id(const struct gmt_symbols_elf *elf)
{
	return elf->build_id;
}

bool gmt_symbols_elf_has_all_functions(const struct gmt_symbols_elf *elf)
{
	return elf->has_symtab;
}

bool gmt_symbols_elf_has_lines(const struct gmt_symbols_elf *elf)
{
	return elf->has_lines;
}

bool gmt_symbols_elf_has_altlink(const struct gmt_symbols_elf *elf)
{
	return elf->has_altlink;
}

struct Elf *gmt_symbols_elf_handle(const struct gmt_symbols_elf *elf)
{
	return elf->elf;
}

bool gmt_symbols_elf_is_python(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0;
}

void gmt_symbols_elf_expect(struct gmt_symbols_elf *elf, uint64_t address)
{
	gmt_symbols_functions_expect(&elf->functions, address);
}

const char *gmt_symbols_elf_find_function(struct gmt_symbols_elf *elf, uint64_t address)
{
	/* .symtab contains all of .dynsym. A stripped file has only .dynsym. */
	const char *function = gmt_symbols_functions_find(&elf->functions, elf->elf,
		elf->has_symtab ? SHT_SYMTAB : SHT_DYNSYM, elf->end, address);

	if (function || elf->has_symtab || !gmt_symbols_elf_is_python(elf->path))
		return function;
	return gmt_interpreter_loop_find_cold(&elf->interpreter_loop, elf->elf, address);
}

void gmt_symbols_elf_close(struct gmt_symbols_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	if (elf->fd >= 0)
		close(elf->fd);
	gmt_symbols_functions_fini(&elf->functions);
	gmt_arena_fini(&elf->arena);
	gmt_pages_free(elf, sizeof(*elf));
}

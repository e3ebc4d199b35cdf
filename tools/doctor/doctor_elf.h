/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_ELF_H
#define GMT_TOOLS_DOCTOR_DOCTOR_ELF_H

/*
 * What a program's file tells before it is started. Reads the headers itself, by the words of <elf.h>: files of
 * other machines are expected, and damaged ones.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gmt_elf_kind {
	GMT_ELF_UNREADABLE,
	GMT_ELF_NONE,    /* another kind of file */
	GMT_ELF_DAMAGED, /* cut, or its tables lie outside of it */
	GMT_ELF_FOREIGN, /* of another class or byte order: nothing more is known than the machine */
	GMT_ELF_NATIVE,  /* of this program's class and byte order; the machine may be another */
};

enum { GMT_ELF_NEEDED = 96 };

struct gmt_elf {
	enum gmt_elf_kind kind;
	uint32_t bits, machine; /* 32 or 64; EM_... */
	char interpreter[256]; /* the dynamic linker; "": none, so static (or a library) */
	char needed[GMT_ELF_NEEDED][64]; /* sonames, as far as there is room */
	size_t needed_count;
	bool opens_driver; /* it holds the names by which a CUDA runtime opens the driver */
	bool has_symbols, has_lines, has_debug_link;
};

void gmt_elf_read(const char *path, struct gmt_elf *ret_elf);

/* The first soname that begins with `prefix`; NULL: none. */
const char *gmt_elf_needs(const struct gmt_elf *elf, const char *prefix);

/* EM_... of this program. */
uint32_t gmt_elf_own_machine(void);

/* "x86-64", "aarch64" ...; "machine 123" for others, in `spare`. */
const char *gmt_elf_machine_name(uint32_t machine, char spare[32]);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_ELF_H
#define GMT_TOOLS_DOCTOR_DOCTOR_ELF_H

/*
 * Facts from a program's file, before the program is started. Parses the ELF headers itself, with
 * the structures of <elf.h>, because the file may be for another machine or damaged.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gmt_elf_kind {
	GMT_ELF_UNREADABLE,
	GMT_ELF_NONE,    /* another kind of file */
	GMT_ELF_DAMAGED, /* truncated, or its tables lie outside the file */
	GMT_ELF_FOREIGN, /* another class or byte order: only the machine is known */
	GMT_ELF_NATIVE,  /* class and byte order of this program; the machine may differ */
};

enum { GMT_ELF_NEEDED = 96 };

struct gmt_doctor_elf {
	enum gmt_elf_kind kind;
	uint32_t bits, machine; /* 32 or 64; EM_... */
	char interpreter[256]; /* the dynamic linker; "": a static program (or a library) */
	char needed[GMT_ELF_NEEDED][64]; /* sonames; further ones are left out */
	size_t needed_count;
	bool opens_driver; /* it contains the names with which a CUDA runtime opens the driver */
	bool has_symbols, has_lines, has_debug_link;
};

void gmt_doctor_elf_read(const char *path, struct gmt_doctor_elf *ret_elf);

/* Returns the first soname that begins with `prefix`, or NULL. */
const char *gmt_doctor_elf_needs(const struct gmt_doctor_elf *elf, const char *prefix);

/* Returns the EM_... of this program. */
uint32_t gmt_doctor_elf_own_machine(void);

/* Returns "x86-64", "aarch64" ...; for other machines "machine 123", written to `buffer`. */
const char *gmt_doctor_elf_machine_name(uint32_t machine, char buffer[32]);

#endif

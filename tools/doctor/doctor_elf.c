/* SPDX-License-Identifier: MIT */
#include "tools/doctor/doctor_elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

/* The file's bytes; `at` prevents reads outside of them. */
struct image {
	const unsigned char *bytes;
	size_t size;
};

static const void *at(const struct image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

/* Copies a string that ends within the file and fits into `bytes`. Returns false otherwise. */
static bool copy_string(const struct image *image, uint64_t offset, char *ret_text, size_t bytes)
{
	const char *text = at(image, offset, 1);
	size_t left = text ? image->size - offset : 0;
	size_t length = text ? strnlen(text, left) : 0;

	if (!text || length == left || length >= bytes)
		return false;
	memcpy(ret_text, text, length + 1);
	return true;
}

/* Copies the header, because it may not be aligned in the file. */
static bool program_header(const struct image *image, const Elf64_Ehdr *head, unsigned index,
	Elf64_Phdr *ret_header)
{
	const void *place =
		at(image, head->e_phoff + (uint64_t)index * head->e_phentsize, sizeof(*ret_header));

	if (!place || head->e_phentsize < sizeof(*ret_header))
		return false;
	memcpy(ret_header, place, sizeof(*ret_header));
	return true;
}

/* Returns the file offset of the data that is loaded at this address; UINT64_MAX: no data. */
static uint64_t offset_of(const struct image *image, const Elf64_Ehdr *head, uint64_t address)
{
	Elf64_Phdr part;

	for (unsigned i = 0; i < head->e_phnum && program_header(image, head, i, &part); i++)
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
			address - part.p_vaddr < part.p_filesz)
			return part.p_offset + (address - part.p_vaddr);
	return UINT64_MAX;
}

static void read_dynamic(const struct image *image, const Elf64_Ehdr *head, const Elf64_Phdr *part,
	struct gmt_doctor_elf *elf)
{
	uint64_t count = part->p_filesz / sizeof(Elf64_Dyn), strings = UINT64_MAX;
	Elf64_Dyn entry;

	/* The string table may come after the names that refer to it, so there are two passes. */
	for (int pass = 0; pass < 2; pass++)
		for (uint64_t i = 0; i < count; i++) {
			const void *place = at(image, part->p_offset + i * sizeof(entry), sizeof(entry));

			if (!place)
				break;
			memcpy(&entry, place, sizeof(entry));
			if (entry.d_tag == DT_NULL)
				break;
			if (pass == 0 && entry.d_tag == DT_STRTAB)
				strings = offset_of(image, head, entry.d_un.d_ptr);
			if (pass == 1 && entry.d_tag == DT_NEEDED && strings != UINT64_MAX &&
				elf->needed_count < GMT_ELF_NEEDED &&
				copy_string(image, strings + entry.d_un.d_val, elf->needed[elf->needed_count],
					sizeof(*elf->needed)))
				elf->needed_count++;
		}
}

static bool read_program_headers(const struct image *image, const Elf64_Ehdr *head,
	struct gmt_doctor_elf *elf)
{
	Elf64_Phdr part;

	for (unsigned i = 0; i < head->e_phnum; i++) {
		if (!program_header(image, head, i, &part))
			return false;
		if (part.p_type == PT_INTERP &&
			!copy_string(image, part.p_offset, elf->interpreter, sizeof(elf->interpreter)))
			return false;
		if (part.p_type == PT_DYNAMIC)
			read_dynamic(image, head, &part, elf);
	}
	return true;
}

/*
 * Returns whether the file contains a CUDA runtime. Every version opens the driver by its soname
 * and looks up this function.
 */
static bool contains_driver_names(const struct image *image)
{
	static const char driver[] = "libcuda.so.1", entry[] = "cuGetProcAddress";

	return memmem(image->bytes, image->size, driver, sizeof(driver)) &&
		memmem(image->bytes, image->size, entry, sizeof(entry) - 1);
}

static void read_image(const struct image *image, struct gmt_doctor_elf *elf)
{
	const unsigned char *ident = at(image, 0, EI_NIDENT);
	const void *whole = at(image, 0, sizeof(Elf64_Ehdr));
	Elf64_Ehdr head;
	Elf32_Ehdr small;

	elf->kind = GMT_ELF_NONE;
	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return;
	elf->kind = GMT_ELF_DAMAGED;
	if (!at(image, 0, sizeof(small)))
		return;
	elf->bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	memcpy(&small, image->bytes, sizeof(small));
	elf->machine = small.e_machine; /* at the same offset in both classes */
	if (ident[EI_DATA] != OWN_DATA)
		elf->machine = (uint32_t)(small.e_machine >> 8 | (small.e_machine & 0xff) << 8);
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != OWN_DATA) {
		elf->kind = GMT_ELF_FOREIGN;
		return;
	}
	if (!whole)
		return;
	memcpy(&head, whole, sizeof(head));
	if (!read_program_headers(image, &head, elf))
		return;
	elf->opens_driver = contains_driver_names(image);
	elf->kind = GMT_ELF_NATIVE;
}

void gmt_doctor_elf_read(const char *path, struct gmt_doctor_elf *ret_elf)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(ret_elf, 0, sizeof(*ret_elf));
	if (fd < 0)
		return;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode)) {
		size_t size = (size_t)status.st_size;
		void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

		if (bytes != MAP_FAILED) {
			read_image(&(struct image){ bytes, size }, ret_elf);
			munmap(bytes, size);
		} else if (!size) {
			ret_elf->kind = GMT_ELF_NONE;
		}
	}
	close(fd);
}

const char *gmt_doctor_elf_needs(const struct gmt_doctor_elf *elf, const char *prefix)
{
	for (size_t i = 0; i < elf->needed_count; i++)
		if (strncmp(elf->needed[i], prefix, strlen(prefix)) == 0)
			return elf->needed[i];
	return NULL;
}

uint32_t gmt_doctor_elf_own_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

const char *gmt_doctor_elf_machine_name(uint32_t machine, char buffer[32])
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "aarch64";
	case EM_386:
		return "x86 (32 bits)";
	case EM_ARM:
		return "ARM (32 bits)";
	case EM_PPC64:
		return "POWER";
	case EM_RISCV:
		return "RISC-V";
	default:
		snprintf(buffer, 32, "machine %u", (unsigned)machine);
		return buffer;
	}
}

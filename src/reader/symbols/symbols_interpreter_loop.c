/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_interpreter_loop.h"

#include <dwarf.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "containers/bisect.h"
#include "format/encoding/little_endian.h"

enum {
	MAX_LOOP_BYTES = 1 << 20,
	/* Bytes of other instructions can look like a jump, but rarely to the same part twice. */
	MIN_JUMPS = 2,
	HEADER_BYTES = 4, /* of .eh_frame_hdr: its version, and the encodings of three numbers */
	ROW_BYTES = 8,    /* of its table: the start of a part, and its description */
};

/* A piece of the file, with the address where it is loaded. */
struct piece {
	const uint8_t *bytes;
	uint64_t address;
	size_t size;
};

/* The sorted table of where parts of functions begin. The linker makes it for unwinders. */
struct parts {
	const uint8_t *rows;
	size_t count;
	uint64_t base;
};

static bool find_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, GElf_Sym *ret_symbol)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, ret_symbol))
			return false;
		if (GELF_ST_TYPE(ret_symbol->st_info) != STT_FUNC)
			continue;
		name = elf_strptr(elf, header->sh_link, ret_symbol->st_name);
		if (name && strcmp(name, GMT_INTERPRETER_LOOP) == 0)
			return true;
	}
	return false;
}

static bool find_loop(Elf *elf, GElf_Sym *ret_symbol)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			return find_symbol(elf, section, &header, ret_symbol);
	return false;
}

static bool has_name(Elf *elf, const GElf_Shdr *header, const char *name)
{
	size_t names;
	const char *found =
		elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, header->sh_name);

	return found && strcmp(found, name) == 0;
}

/* Finds the section `name`. If `name` is NULL, finds the section that is loaded at `address`. */
static bool find_section(Elf *elf, const char *name, uint64_t address, struct piece *ret_piece)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
			(name ? !has_name(elf, &header, name) : address - header.sh_addr >= header.sh_size))
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf)
			return false;
		*ret_piece = (struct piece){ data->d_buf, header.sh_addr, data->d_size };
		return true;
	}
	return false;
}

static bool find_parts(Elf *elf, struct parts *ret_parts)
{
	struct piece table;
	size_t at = HEADER_BYTES + sizeof(uint32_t); /* after the address of .eh_frame */

	if (!find_section(elf, ".eh_frame_hdr", 0, &table) || table.size < at + sizeof(uint32_t))
		return false;
	/* The encodings that all linkers use. */
	if (table.bytes[0] != 1 || table.bytes[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
		table.bytes[2] != DW_EH_PE_udata4 || table.bytes[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	*ret_parts = (struct parts){
		table.bytes + at + sizeof(uint32_t),
		gmt_get_u32(table.bytes + at),
		table.address,
	};
	return ret_parts->count <= (table.size - at - sizeof(uint32_t)) / ROW_BYTES;
}

static uint64_t part_start(const struct parts *parts, size_t number)
{
	return parts->base + (uint64_t)(int64_t)(int32_t)gmt_get_u32(parts->rows + number * ROW_BYTES);
}

/*
 * Finds the part that contains an address. It ends where the next part begins. Returns false if no
 * part contains the address, or its end is unknown.
 */
static bool find_part(const struct parts *parts, uint64_t address, uint64_t *ret_start,
	uint64_t *ret_end)
{
	size_t low = GMT_BISECT(at, parts->count, part_start(parts, at) <= address);

	if (!low || low == parts->count)
		return false;
	*ret_start = part_start(parts, low - 1);
	*ret_end = part_start(parts, low);
	return true;
}

/*
 * Returns the length of a jump's opcode, conditional or not, before its distance; 0 if it is not a
 * jump.
 */
static size_t jump_bytes(const uint8_t *at)
{
	return at[0] == 0xe9 ? 1 : at[0] == 0x0f && (at[1] & 0xf0) == 0x80 ? 2 : 0;
}

static void find_cold(struct gmt_interpreter_loop *loop, const struct parts *parts,
	const struct piece *code)
{
	unsigned jumps = 0;

	for (size_t i = 0; i + 6 <= code->size; i++) {
		size_t front = jump_bytes(code->bytes + i);
		uint64_t target, start, end;

		if (!front)
			continue;
		target = code->address + i + front + 4 +
			(uint64_t)(int64_t)(int32_t)gmt_get_u32(code->bytes + i + front);
		if (target - code->address < code->size || !find_part(parts, target, &start, &end) ||
			target == start)
			continue;
		if (start != loop->cold_start) {
			/*
			 * Majority vote: the part that most jumps lead to stays, if more than half lead to it.
			 */
			if (jumps && jumps--)
				continue;
			loop->cold_start = start;
			loop->cold_end = end;
		}
		jumps++;
	}
	if (jumps < MIN_JUMPS)
		loop->cold_end = loop->cold_start;
}

static void read_file(struct gmt_interpreter_loop *loop, Elf *elf)
{
	struct parts parts;
	struct piece section;
	GElf_Ehdr header;
	GElf_Sym symbol;
	uint64_t offset;

	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 || !find_loop(elf, &symbol) ||
		symbol.st_size > MAX_LOOP_BYTES || !find_section(elf, NULL, symbol.st_value, &section) ||
		!find_parts(elf, &parts))
		return;
	offset = symbol.st_value - section.address;
	if (offset > section.size || symbol.st_size > section.size - offset)
		return;
	find_cold(loop, &parts,
		&(struct piece){ section.bytes + offset, symbol.st_value, symbol.st_size });
}

const char *gmt_interpreter_loop_find_cold(struct gmt_interpreter_loop *loop, struct Elf *elf,
	uint64_t address)
{
	if (!loop->is_read) {
		loop->is_read = true;
		read_file(loop, elf);
	}
	return address - loop->cold_start < loop->cold_end - loop->cold_start ? GMT_INTERPRETER_LOOP
		".cold"
																		  : NULL;
}

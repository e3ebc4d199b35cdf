/* SPDX-License-Identifier: MIT */
#include "interpose/elf_tables.h"

#include <elf.h>
#include <stddef.h>

#include "runtime/text_without_calls.h"

/* Returns the address that an entry of the dynamic section holds. */
static const void *address_in(uint64_t base, uint64_t value)
{
	/* glibc has already added the base to this address, unless the dynamic section is read-only. */
	return (const void *)(value < base ? base + value : value);
}

bool gmt_elf_tables_read(const struct dl_phdr_info *info, struct gmt_elf_tables *ret_tables)
{
	const void *dynamic = NULL;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return dynamic && gmt_elf_tables_read_at(info->dlpi_addr, dynamic, ret_tables);
}

bool gmt_elf_tables_read_at(uint64_t base, const void *dynamic, struct gmt_elf_tables *ret_tables)
{
	uint64_t soname = 0;

	*ret_tables = (struct gmt_elf_tables){ .base = base, .dynamic = dynamic };
	for (const ElfW(Dyn) *entry = ret_tables->dynamic; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			ret_tables->symbols = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRTAB)
			ret_tables->names = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_GNU_HASH)
			ret_tables->gnu_hash = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_HASH)
			ret_tables->sysv_hash = address_in(ret_tables->base, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_SONAME)
			soname = entry->d_un.d_val;
	}
	if (!ret_tables->symbols || !ret_tables->names)
		return false;
	ret_tables->soname = soname ? ret_tables->names + soname : NULL;
	return true;
}

static bool is_definition(const struct gmt_elf_tables *tables, uint32_t index, const char *symbol)
{
	const ElfW(Sym) *entry = &tables->symbols[index];

	if (entry->st_shndx == SHN_UNDEF || !entry->st_value ||
		!gmt_same_text(tables->names + entry->st_name, symbol))
		return false;
	/* The value of an IFUNC symbol is a resolver, and not the function. A TLS symbol is data. */
	return ELF64_ST_TYPE(entry->st_info) != STT_GNU_IFUNC &&
		ELF64_ST_TYPE(entry->st_info) != STT_TLS;
}

/* The parts of a GNU hash table. */
struct gnu_hash {
	const ElfW(Addr) * filter; /* a Bloom filter with two bits per symbol */
	uint32_t filter_words;
	uint32_t filter_shift;
	uint32_t bucket_count;
	uint32_t first; /* symbols before this index are not in the table */
	const uint32_t *buckets;
	const uint32_t *chain;
};

static struct gnu_hash open_gnu_hash(const uint32_t *hash)
{
	struct gnu_hash opened = { .bucket_count = hash[0], .first = hash[1] };

	opened.filter = (const ElfW(Addr) *)(hash + 4);
	opened.filter_words = hash[2];
	opened.filter_shift = hash[3];
	opened.buckets = (const uint32_t *)(opened.filter + opened.filter_words);
	opened.chain = opened.buckets + opened.bucket_count;
	return opened;
}

/* Tests the Bloom filter. Returns false if no symbol has that hash, as in most objects. */
static bool may_have(const struct gnu_hash *hash, uint32_t wanted)
{
	enum { BITS = 8 * sizeof(ElfW(Addr)) };
	ElfW(Addr) both =
		(ElfW(Addr))1 << wanted % BITS | (ElfW(Addr))1 << (wanted >> hash->filter_shift) % BITS;

	return !hash->filter_words || (hash->filter[wanted / BITS % hash->filter_words] & both) == both;
}

typedef int visit_function(const ElfW(Sym) * entry, void *argument);

static int visit_by_gnu_hash(const struct gmt_elf_tables *tables, const char *symbol,
	visit_function *visit, void *argument)
{
	struct gnu_hash hash = open_gnu_hash(tables->gnu_hash);
	uint32_t wanted = 5381;
	int result = 0;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++)
		wanted = wanted * 33 + *at;
	if (!hash.bucket_count || !may_have(&hash, wanted))
		return 0;
	for (uint32_t index = hash.buckets[wanted % hash.bucket_count]; index >= hash.first && index;
		index++) {
		uint32_t entry = hash.chain[index - hash.first];

		if ((entry | 1) == (wanted | 1) && is_definition(tables, index, symbol))
			result = visit(&tables->symbols[index], argument);
		if (result || (entry & 1))
			return result;
	}
	return 0;
}

static int visit_by_sysv_hash(const struct gmt_elf_tables *tables, const char *symbol,
	visit_function *visit, void *argument)
{
	uint32_t buckets = tables->sysv_hash[0], wanted = 0;
	const uint32_t *bucket = tables->sysv_hash + 2, *chain = bucket + buckets;
	int result = 0;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++) {
		wanted = (wanted << 4) + *at;
		wanted ^= (wanted >> 24) & 0xf0;
		wanted &= 0x0fffffff;
	}
	for (uint32_t index = buckets ? bucket[wanted % buckets] : 0; index && !result;
		index = chain[index])
		if (is_definition(tables, index, symbol))
			result = visit(&tables->symbols[index], argument);
	return result;
}

int gmt_elf_tables_visit(const struct gmt_elf_tables *tables, const char *symbol,
	visit_function *visit, void *argument)
{
	if (tables->gnu_hash)
		return visit_by_gnu_hash(tables, symbol, visit, argument);
	return tables->sysv_hash ? visit_by_sysv_hash(tables, symbol, visit, argument) : 0;
}

uint32_t gmt_elf_tables_symbol_count(const struct gmt_elf_tables *tables)
{
	uint32_t last = 0;

	if (!tables->gnu_hash)
		return tables->sysv_hash ? tables->sysv_hash[1] : 0;

	struct gnu_hash hash = open_gnu_hash(tables->gnu_hash);

	for (uint32_t i = 0; i < hash.bucket_count; i++)
		last = hash.buckets[i] > last ? hash.buckets[i] : last;
	/* The object defines no symbol. */
	if (last < hash.first)
		return hash.first;
	/* A chain's last entry has bit 0 set. */
	while (!(hash.chain[last - hash.first] & 1))
		last++;
	return last + 1;
}

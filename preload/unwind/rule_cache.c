/* SPDX-License-Identifier: MIT */
#include "unwind/rule_cache.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "unwind/eh_frame.h"
#include "unwind/memory_is_readable.h"
#include "runtime/recorder_stack.h"
#include "interpose/loaded_objects.h"
#include "runtime/hot_data.h"
#include "runtime/stages.h"

enum { PAGE_BYTES = 4096 };

_Atomic uint64_t (*gmt_rule_cache_sets)[GMT_RULES_WAYS];
GMT_HOT_DATA __attribute__((aligned(4))) struct gmt_rule_cache gmt_rule_cache = { .generation = 1 };

/*
 * The result of glibc's _dl_find_object (2.35 and newer), which takes no lock. Its layout is part
 * of the ABI. It is declared here because the library is also compiled with older headers.
 */
struct found_object {
	unsigned long long flags;
	char *start, *end;
	struct link_map *map;
	void *eh_frame_header;
	unsigned long long reserved[7];
};

static int (*find_object)(void *address, struct found_object *ret_found);

/* What is known about an object's tables. */
enum tables {
	TABLES_ABSENT,
	TABLES_FOUND,
	TABLES_UNKNOWN /* the recorder does not know where the tables are: for libunwind */
};

/*
 * Finds the readable segment of [headers, +count) that holds .eh_frame_hdr; the tables lie there.
 */
static enum tables find_tables(const ElfW(Phdr) * headers, unsigned count, uint64_t bias,
	struct gmt_eh_frame *ret_tables)
{
	const ElfW(Phdr) *tables = NULL;

	for (unsigned i = 0; i < count; i++)
		if (headers[i].p_type == PT_GNU_EH_FRAME)
			tables = &headers[i];
	for (unsigned i = 0; tables && i < count; i++) {
		const ElfW(Phdr) *segment = &headers[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
			tables->p_vaddr >= segment->p_vaddr &&
			tables->p_vaddr - segment->p_vaddr < segment->p_filesz) {
			ret_tables->start = bias + segment->p_vaddr;
			ret_tables->end = ret_tables->start + segment->p_filesz;
			ret_tables->header = bias + tables->p_vaddr;
			return gmt_memory_is_readable(ret_tables->header) ? TABLES_FOUND : TABLES_ABSENT;
		}
	}
	return TABLES_ABSENT;
}

/*
 * Returns the load address. The loader wrote it before the object became visible, but sanitizers do
 * not see that order.
 */
__attribute__((no_sanitize("thread"))) static uint64_t bias_of(const struct link_map *map)
{
	return *(const volatile ElfW(Addr) *)&map->l_addr;
}

static enum tables tables_of(const struct found_object *object, struct gmt_eh_frame *ret_tables)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(const void *)object->start;

	/* An object begins with its headers: ELF, then program headers. libunwind takes all others. */
	if (!gmt_memory_is_readable((uintptr_t)object->start) || header->e_ident[EI_MAG0] != ELFMAG0 ||
		header->e_ident[EI_MAG1] != ELFMAG1 || header->e_ident[EI_MAG2] != ELFMAG2 ||
		header->e_ident[EI_MAG3] != ELFMAG3 || header->e_phentsize != sizeof(ElfW(Phdr)) ||
		header->e_phoff > PAGE_BYTES ||
		header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > PAGE_BYTES)
		return TABLES_UNKNOWN;
	return find_tables((const ElfW(Phdr) *)(const void *)(object->start + header->e_phoff),
		header->e_phnum, bias_of(object->map), ret_tables);
}

struct search {
	uint64_t address;
	struct gmt_eh_frame *ret_tables;
	enum tables tables;
	bool is_object;
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *search = argument;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum && !search->is_object; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		search->is_object = segment->p_type == PT_LOAD &&
			search->address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz;
	}
	if (search->is_object)
		search->tables =
			find_tables(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, search->ret_tables);
	return search->is_object;
}

/*
 * Finds the rule at `address`. Returns false if no loaded object holds the address: it is not known
 * how long the code there stays.
 */
static bool find_rule(uint64_t address, struct gmt_unwind_rule *ret_rule)
{
	struct gmt_eh_frame tables;
	struct search search = { .address = address, .ret_tables = &tables };
	struct found_object object;

	if (find_object) {
		search.is_object = find_object((void *)address, &object) == 0;
		if (search.is_object)
			search.tables = tables_of(&object, &tables);
	} else {
		gmt_objects_visit(visit_object, &search);
	}
	*ret_rule = search.tables == TABLES_FOUND
		? gmt_eh_frame_rule(&tables, address)
		: (struct gmt_unwind_rule){ .kind = search.tables == TABLES_UNKNOWN ? GMT_UNWIND_OTHER
																			: GMT_UNWIND_NONE };
	return search.is_object;
}

static void add(uint64_t return_address, struct gmt_unwind_rule rule)
{
	uint64_t mixed = gmt_rule_cache_mix(return_address), empty = 0;
	uint64_t entry = gmt_rule_cache_tag(mixed) | gmt_unwind_rule_pack(rule);
	_Atomic uint64_t *set = gmt_rule_cache_set(mixed);

	for (unsigned way = 0; way < GMT_RULES_WAYS; way++, empty = 0)
		if (atomic_compare_exchange_strong_explicit(&set[way], &empty, entry, memory_order_relaxed,
				memory_order_relaxed))
			return;
	/* The set is full: replace one entry, chosen by address bits that did not choose the set. */
	atomic_store_explicit(&set[mixed % GMT_RULES_WAYS], entry, memory_order_relaxed);
}

struct lookup {
	uint64_t return_address;
	struct gmt_unwind_rule rule;
};

/* Runs on a recorder stack. */
static void lookup_work(void *argument)
{
	struct lookup *lookup = argument;

	/* The call lies before its return address, which may already be in another function. */
	if (find_rule(lookup->return_address - 1, &lookup->rule))
		add(lookup->return_address, lookup->rule);
}

struct gmt_unwind_rule gmt_rule_cache_read_tables(uint64_t return_address)
{
	/* If the recorder stack does not run, libunwind unwinds the frame. */
	struct lookup lookup = { .return_address = return_address, .rule.kind = GMT_UNWIND_OTHER };

	gmt_recorder_stack_run(lookup_work, &lookup);
	return lookup.rule;
}

void gmt_rule_cache_init(void *(*find)(const char *name))
{
#ifdef __x86_64__
	size_t bytes = sizeof(*gmt_rule_cache_sets) << GMT_RULES_SET_BITS;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(void **)&find_object = find("_dl_find_object");
	gmt_rule_cache_sets = memory == MAP_FAILED ? NULL : memory;
#else
	(void)find;
#endif
}

void gmt_rule_cache_pause(void)
{
	/*
	 * The loader's lock comes next. It orders the pause before everything that the unloading
	 * allows.
	 */
	atomic_fetch_add(&gmt_rule_cache.pauses, 1);
}

void gmt_rule_cache_resume(bool was_something_unloaded)
{
	if (was_something_unloaded && gmt_rule_cache_sets) {
		for (size_t set = 0; set < (size_t)1 << GMT_RULES_SET_BITS; set++)
			for (unsigned way = 0; way < GMT_RULES_WAYS; way++)
				if (atomic_load_explicit(&gmt_rule_cache_sets[set][way], memory_order_relaxed))
					atomic_store_explicit(&gmt_rule_cache_sets[set][way], 0, memory_order_relaxed);
		atomic_fetch_add(&gmt_rule_cache.generation, 1);
	}
	/*
	 * The child of a fork that happened during a pause has no pause any more. Pairs with the
	 * acquire in gmt_rule_cache_begin.
	 */
	if (atomic_load_explicit(&gmt_rule_cache.pauses, memory_order_relaxed))
		atomic_fetch_sub_explicit(&gmt_rule_cache.pauses, 1, memory_order_release);
}

/* Ends all pauses. Call it in the child of a fork: the threads that paused do not exist there. */
static void after_fork(void)
{
	atomic_store(&gmt_rule_cache.pauses, 0);
}

GMT_AT_STAGE(after_fork, UNWIND, after_fork);

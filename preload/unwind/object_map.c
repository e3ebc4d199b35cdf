/* SPDX-License-Identifier: MIT */
#include "unwind/object_map.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "unwind/rule_cache.h"
#include "runtime/config.h"
#include "runtime/bounded_wait.h"
#include "runtime/log.h"
#include "interpose/loaded_objects.h"
#include "runtime/hot_data.h"
#include "runtime/stages.h"

enum {
	/* Maximum wait of the writer for the lock; the writer tries again later. */
	LOCK_WAIT_NS = 20000000,
	/*
	 * Maximum wait before an unload, because the object will be gone afterwards. A machine under
	 * load may stop the writer for so long.
	 */
	UNLOAD_WAIT_NS = 1000000000,
	ROWS_MAX = 65536, /* about 6 MiB, reached if a program loads and unloads without end */
};

/*
 * One row of the map. Each text is stored once, because a program loads the same files again and
 * again.
 */
struct row {
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	uint32_t generation;
	uint32_t path;     /* ids in `texts`, also of build_id */
	uint32_t build_id;
};

GMT_HOT_DATA
__attribute__((aligned(4))) struct gmt_object_map_state gmt_object_map_state = { .generation = 1,
	.is_used_since_scan = true };
static atomic_flag locked = ATOMIC_FLAG_INIT;
static struct {
	GMT_VEC(struct row) rows;
	GMT_VEC(uint32_t) newest; /* rows whose addresses no later row has taken */
	struct gmt_intern texts;
	unsigned long long adds; /* the loader's counters at the last scan */
	unsigned long long subs;
} object_map;

uint32_t gmt_object_map_mark_used(void)
{
	/* Pairs with the release in gmt_object_map_on_unload. */
	uint32_t now = atomic_load_explicit(&gmt_object_map_state.generation, memory_order_acquire);

	/* Reads each variable before writing it, because all threads share this cache line. */
	if (atomic_load_explicit(&gmt_object_map_state.used_generation, memory_order_relaxed) != now)
		atomic_store(&gmt_object_map_state.used_generation, now);
	if (!atomic_load_explicit(&gmt_object_map_state.is_used_since_scan, memory_order_relaxed))
		atomic_store(&gmt_object_map_state.is_used_since_scan, true);
	return atomic_load_explicit(&gmt_object_map_state.is_full, memory_order_relaxed) ? 0 : now;
}

void gmt_object_map_on_unload(void)
{
	uint32_t now = atomic_load(&gmt_object_map_state.generation);

	/*
	 * If no stack belongs to this generation, no stack can be mistaken. Two concurrent unloads
	 * start only one new generation.
	 */
	if (atomic_load(&gmt_object_map_state.used_generation) == now)
		atomic_compare_exchange_strong_explicit(&gmt_object_map_state.generation, &now, now + 1,
			memory_order_release, memory_order_relaxed);
}

static bool has_counters(size_t size)
{
	return size >=
		offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(((struct dl_phdr_info *)NULL)->dlpi_subs);
}

static int read_unload_count(struct dl_phdr_info *info, size_t size, void *ret_count)
{
	if (has_counters(size))
		*(uint64_t *)ret_count = info->dlpi_subs;
	return 1; /* every object reports the same counters */
}

uint64_t gmt_object_map_unload_count(void)
{
	uint64_t count = 0;

	gmt_objects_visit(read_unload_count, &count);
	return count;
}

/*
 * Waits for a thread that holds the lock only for microseconds, but may lose the processor
 * meanwhile.
 */
static bool lock(uint64_t wait_ns)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(gmt_config_wait_ns(wait_ns));

	while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
		if (!gmt_bounded_wait_rest(&wait))
			return false;
	return true;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&locked, memory_order_release);
}

/*
 * Releases the lock. Called in the child of a fork: a thread that does not exist in the child may
 * have held the lock.
 */
static void after_fork(void)
{
	unlock();
}

static void read_build_id(const ElfW(Phdr) * segment, uint64_t bias,
	struct gmt_object_map_row *object)
{
	const char *at = (const char *)(bias + segment->p_vaddr);
	const char *end = at + segment->p_memsz;

	while (at + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		const char *name = at + sizeof(*note);
		const unsigned char *value = (const unsigned char *)name + ((note->n_namesz + 3u) & ~3u);

		at = (const char *)value + ((note->n_descsz + 3u) & ~3u);
		if (at > end || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
			memcmp(name, "GNU", 4) != 0)
			continue;
		for (unsigned i = 0; i < note->n_descsz && i < sizeof(object->build_id) / 2; i++)
			snprintf(object->build_id + 2 * i, 3, "%02x", value[i]);
		return;
	}
}

static void describe(const struct dl_phdr_info *info, struct gmt_object_map_row *object)
{
	object->start = UINT64_MAX;
	object->bias = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		object->start = low < object->start ? low : object->start;
		object->end = low + segment->p_memsz > object->end ? low + segment->p_memsz : object->end;
	}
	for (unsigned i = 0; i < info->dlpi_phnum && !object->build_id[0]; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + segment->p_vaddr;

		/* Only mapped notes can be read. */
		if (segment->p_type == PT_NOTE && low >= object->start &&
			low + segment->p_memsz <= object->end)
			read_build_id(segment, info->dlpi_addr, object);
	}
}

/*
 * Stores the path of an object. The loader has no name for the program itself. A relative path is
 * valid only in the current folder, so the function makes it absolute.
 */
static void set_path(const char *name, struct gmt_object_map_row *object)
{
	size_t used = 0;

	if (!name[0]) {
		ssize_t length = readlink("/proc/self/exe", object->path, sizeof(object->path) - 1);

		object->path[length > 0 ? length : 0] = 0;
		return;
	}
	if (name[0] != '/' && strchr(name, '/') && getcwd(object->path, sizeof(object->path) / 2)) {
		used = strlen(object->path);
		object->path[used++] = '/';
	}
	snprintf(object->path + used, sizeof(object->path) - used, "%s", name);
}

static const char *text_of(uint32_t id)
{
	return gmt_intern_get(&object_map.texts, id)->bytes;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_known(const struct gmt_object_map_row *object, const char *name)
{
	for (size_t i = 0; i < object_map.newest.count; i++) {
		const struct row *known = &object_map.rows.items[object_map.newest.items[i]];

		if (known->start == object->start && known->end == object->end)
			return (!name[0] || strcmp(base_name(name), base_name(text_of(known->path))) == 0) &&
				strcmp(text_of(known->build_id), object->build_id) == 0;
	}
	return false;
}

/* Removes the rows from `newest` whose addresses overlap this range. */
static void remove_overlapping(uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < object_map.newest.count; i++) {
		const struct row *row = &object_map.rows.items[object_map.newest.items[i]];

		if (row->start >= end || start >= row->end)
			object_map.newest.items[kept++] = object_map.newest.items[i];
	}
	object_map.newest.count = kept;
}

static void add(const struct gmt_object_map_row *object)
{
	struct row row = {
		.start = object->start,
		.end = object->end,
		.bias = object->bias,
		.generation = object->generation,
	};
	uint32_t *newest;
	struct row *added;

	/* If the map is full, no stacks are taken from now on: the reader could not resolve them. */
	if (object_map.rows.count >= ROWS_MAX) {
		if (!atomic_exchange(&gmt_object_map_state.is_full, true))
			gmt_log_note(
				"too many libraries were loaded and unloaded: later events have no native stacks");
		return;
	}
	if (!gmt_intern_text(&object_map.texts, object->path, &row.path) ||
		!gmt_intern_text(&object_map.texts, object->build_id, &row.build_id) ||
		!gmt_vec_reserve(&object_map.newest, 1) || !(added = gmt_vec_push(&object_map.rows)))
		return;
	*added = row;
	remove_overlapping(row.start, row.end);
	newest = gmt_vec_push(&object_map.newest);
	if (newest)
		*newest = (uint32_t)object_map.rows.count - 1;
}

static int add_if_new(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct gmt_object_map_row object = { .generation =
											 atomic_load(&gmt_object_map_state.generation) };
	bool *first = argument;

	if (*first && has_counters(size)) {
		/*
		 * The loader counts loads and unloads: if both counts are unchanged, there is nothing to
		 * read.
		 */
		if (object_map.rows.count && info->dlpi_adds == object_map.adds &&
			info->dlpi_subs == object_map.subs)
			return 1;
		/*
		 * The rules are also out of date if an unload bypassed the recorder's dlclose. libc itself,
		 * or a dlclose that is bound to libc's, may do that.
		 */
		if (info->dlpi_subs != object_map.subs) {
			gmt_rule_cache_pause();
			gmt_rule_cache_resume(true);
		}
		object_map.adds = info->dlpi_adds;
		object_map.subs = info->dlpi_subs;
	}
	*first = false;

	describe(info, &object);
	if (object.end && !is_known(&object, info->dlpi_name)) {
		set_path(info->dlpi_name, &object);
		add(&object);
	}
	return 0;
}

static bool scan(uint64_t wait_ns)
{
	bool first = true;

	/* No stack was taken since the last scan, so no stack refers to newer objects. */
	if (!atomic_load(&gmt_object_map_state.is_used_since_scan))
		return true;
	if (!lock(wait_ns))
		return false;
	atomic_store(&gmt_object_map_state.is_used_since_scan, false);
	gmt_objects_visit(add_if_new, &first);
	unlock();
	return true;
}

void gmt_object_map_scan(void)
{
	scan(LOCK_WAIT_NS);
}

void gmt_object_map_scan_before_unload(void)
{
	static atomic_flag is_reported = ATOMIC_FLAG_INIT;

	if (!scan(UNLOAD_WAIT_NS) && !atomic_flag_test_and_set(&is_reported))
		gmt_log_note("a library was unloaded before the recorder's thread stored it: "
					 "its frames may have no names");
}

bool gmt_object_map_get(uint32_t index, struct gmt_object_map_row *ret_row)
{
	bool found = false;

	if (!lock(LOCK_WAIT_NS))
		return false;
	if (index < object_map.rows.count) {
		const struct row *row = &object_map.rows.items[index];

		*ret_row = (struct gmt_object_map_row){
			.generation = row->generation,
			.start = row->start,
			.end = row->end,
			.bias = row->bias,
		};
		snprintf(ret_row->path, sizeof(ret_row->path), "%s", text_of(row->path));
		snprintf(ret_row->build_id, sizeof(ret_row->build_id), "%s", text_of(row->build_id));
		found = true;
	}
	unlock();
	return found;
}

GMT_AT_STAGE(after_fork, UNWIND, after_fork);

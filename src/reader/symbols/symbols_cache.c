/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_cache.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "containers/intern.h"
#include "base/pages.h"
#include "reader/symbols/symbols_cache_folder.h"

/* The results of one key. */
struct entry {
	struct gmt_symbols_results results;
	char name[GMT_SYMBOLS_CACHE_FOLDER_NAME_BYTES];
	uint8_t *bytes; /* as read; NULL: there were no valid bytes */
	size_t size;
};

enum { KEY_BYTES = 1024 };

struct gmt_symbols_cache {
	struct gmt_symbols_cache_folder folder;
	char reader[KEY_BYTES / 2]; /* describes this program and its libdw */
	struct gmt_intern keys; /* ids are indexes in `entries` */
	GMT_VEC(struct entry *) entries;
};

/* Describes a file. Another file, or changed contents, gives another text. */
static void describe(const struct gmt_symbols_elf_stamp *stamp, char *text, size_t bytes)
{
	snprintf(text, bytes, "%" PRIu64 " bytes of %" PRId64 " and %" PRId64, stamp->size_bytes,
		stamp->modified_ns, stamp->changed_ns);
}

/*
 * Describes this program. Another build, or another libdw, may give other results for the same
 * files.
 */
static bool describe_reader(struct gmt_symbols_cache *cache)
{
	struct stat status;
	char file[128];

	if (stat("/proc/self/exe", &status))
		return false;

	struct gmt_symbols_elf_stamp stamp = gmt_symbols_elf_stamp_of(&status);

	describe(&stamp, file, sizeof(file));
	return snprintf(cache->reader, sizeof(cache->reader), "%s, libdw %.64s", file,
			   dwfl_version(NULL)) < (int)sizeof(cache->reader);
}

struct gmt_symbols_cache *gmt_symbols_cache_open(void)
{
	struct gmt_symbols_cache *cache = gmt_pages_grow(NULL, 0, sizeof(*cache));

	if (cache && !(describe_reader(cache) && gmt_symbols_cache_folder_find(&cache->folder))) {
		gmt_symbols_cache_close(cache);
		return NULL;
	}
	return cache;
}

static bool write_key(const struct gmt_symbols_cache *cache,
	const struct gmt_symbols_elf *functions, const struct gmt_symbols_elf *lines,
	char ret_key[KEY_BYTES])
{
	char function_file[128], line_file[128] = "none";

	describe(gmt_symbols_elf_stamp(functions), function_file, sizeof(function_file));
	if (lines)
		describe(gmt_symbols_elf_stamp(lines), line_file, sizeof(line_file));
	return snprintf(ret_key, KEY_BYTES, "build-id %s\nreader %s\nfunctions %s\nlines %s\n",
			   gmt_symbols_elf_build_id(functions), cache->reader, function_file,
			   line_file) < KEY_BYTES;
}

/* Reads the results of earlier runs. */
static void read_entry(struct gmt_symbols_cache *cache, struct entry *entry, const char *key)
{
	entry->bytes = gmt_symbols_cache_folder_read(&cache->folder, entry->name,
		GMT_SYMBOLS_RESULTS_MAX_BYTES, &entry->size);
	if (entry->bytes &&
		!gmt_symbols_results_load(&entry->results, entry->bytes, entry->size, key)) {
		gmt_pages_free(entry->bytes, entry->size);
		entry->bytes = NULL;
	}
}

struct gmt_symbols_results *gmt_symbols_cache_get(struct gmt_symbols_cache *cache,
	const struct gmt_symbols_elf *functions, const struct gmt_symbols_elf *lines)
{
	char key[KEY_BYTES];
	uint32_t id;

	if (!cache || !*gmt_symbols_elf_build_id(functions) || gmt_symbols_elf_has_altlink(functions) ||
		(lines && gmt_symbols_elf_has_altlink(lines)) || !write_key(cache, functions, lines, key))
		return NULL;
	/* Reserve room before the key gets its id: a key with an id must have its entry. */
	if (!gmt_vec_reserve(&cache->entries, 1) || !gmt_intern_text(&cache->keys, key, &id))
		return NULL;
	if (id == cache->entries.count) {
		struct entry *entry = gmt_pages_grow(NULL, 0, sizeof(*entry));

		cache->entries.items[cache->entries.count++] = entry;
		if (entry) {
			snprintf(entry->name, sizeof(entry->name), "%s-%016" PRIx64,
				gmt_symbols_elf_build_id(functions), gmt_hash_bytes(key, strlen(key)));
			read_entry(cache, entry, key);
		}
	}
	return cache->entries.items[id] ? &cache->entries.items[id]->results : NULL;
}

static bool has_limit(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

/*
 * Returns whether the results are reliable. If memory may have been short, a name may exist
 * although it was not found.
 */
static bool is_memory_unlimited(void)
{
	return !gmt_pages_has_refused() && !has_limit(RLIMIT_AS) && !has_limit(RLIMIT_DATA);
}

static void write_entry(struct gmt_symbols_cache *cache, const struct entry *entry, const char *key)
{
	gmt_symbols_results_bytes bytes = { 0 };

	if (gmt_symbols_results_encode(&entry->results, key, &bytes))
		gmt_symbols_cache_folder_write(&cache->folder, entry->name, bytes.items, bytes.count);
	gmt_vec_fini(&bytes);
}

void gmt_symbols_cache_close(struct gmt_symbols_cache *cache)
{
	if (!cache)
		return;
	for (uint32_t i = 0; i < cache->entries.count; i++) {
		struct entry *entry = cache->entries.items[i];

		if (!entry)
			continue;
		if (gmt_symbols_results_is_new(&entry->results) && is_memory_unlimited())
			write_entry(cache, entry, gmt_intern_get(&cache->keys, i)->bytes);
		gmt_symbols_results_fini(&entry->results);
		gmt_pages_free(entry->bytes, entry->size);
		gmt_pages_free(entry, sizeof(*entry));
	}
	gmt_symbols_cache_folder_close(&cache->folder);
	gmt_vec_fini(&cache->entries);
	gmt_intern_fini(&cache->keys);
	gmt_pages_free(cache, sizeof(*cache));
}

/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers/bisect.h"
#include "containers/intern.h"
#include "base/pages.h"
#include "reader/symbols/symbols_cache.h"
#include "reader/symbols/symbols_dwarf.h"
#include "reader/symbols/symbols_elf.h"
#include "reader/symbols/symbols_debug_files.h"

/* The open files of one module. */
struct module_files {
	enum gmt_symbols_state state;
	struct gmt_symbols_elf *functions;  /* the file with the best symbol table */
	struct gmt_symbols_elf *lines_file; /* the file with lines; may be the same file */
	struct gmt_symbols_dwarf *lines;
	bool lines_tried;
	/* known results of these files; NULL: results are not stored */
	struct gmt_symbols_results *results;
};

/* A module in the list that is sorted by start address. */
struct module_range {
	uint64_t start;
	uint32_t module; /* index in the recording */
};

/*
 * A node of a binary tree over the ranges. Each node covers half of its parent's ranges. The nodes
 * are stored as a heap, from index 1 on. Some programs load and unload thousands of libraries at
 * the same addresses. Even then, most nodes need no visit.
 */
struct tree_node {
	uint64_t max_end;
	uint64_t max_rank; /* see rank_of */
	uint32_t min_generation;
};

struct gmt_symbols {
	struct gmt_symbols_cache *cache; /* may be NULL */
	const struct gmt_recording *recording;
	struct gmt_symbols_debug_files *debug_files;
	size_t module_count;
	/* for each module of the recording; used only for the first module of each file */
	struct module_files *module_files;
	uint32_t *first_of;    /* for each module: the first module with the same file */
	struct module_range *ranges;
	struct tree_node *nodes;
	size_t leaf_count; /* a power of two, at least module_count; leaf i is nodes[leaf_count + i] */
};

static int by_start(const void *left, const void *right)
{
	const struct module_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->module > b->module) - (a->module < b->module);
}

/*
 * Sets `first_of`. All modules with the same file (path and build id) share one mapping of that
 * file: a program may load and unload a library 65,536 times, and a process cannot map so many
 * files.
 * Returns false when out of memory.
 */
static bool find_first_modules(struct gmt_symbols *symbols)
{
	const struct gmt_module *modules = symbols->recording->modules.items;
	struct gmt_intern files = { .entries = { 0 } };
	struct gmt_map first_modules = { 0 };
	bool is_done = true;

	for (size_t i = 0; is_done && i < symbols->module_count; i++) {
		uint32_t words[2], file;
		uint64_t first = i;

		is_done = gmt_intern_text(&files, modules[i].path.text, &words[0]) &&
			gmt_intern_text(&files, modules[i].build_id.text, &words[1]) &&
			gmt_intern(&files, words, sizeof(words), &file) &&
			(gmt_map_find(&first_modules, file, &first) ||
				gmt_map_put(&first_modules, file, first));
		symbols->first_of[i] = (uint32_t)first;
	}
	gmt_intern_fini(&files);
	gmt_map_fini(&first_modules);
	return is_done;
}

/*
 * Returns the rank of a module: the newer of two modules has the higher rank. 0 stands for no
 * module.
 */
static uint64_t rank_of(const struct gmt_module *modules, uint32_t module)
{
	return (uint64_t)modules[module].generation << 32 | (module + 1);
}

static void sort_ranges(struct gmt_symbols *symbols)
{
	const struct gmt_module *modules = symbols->recording->modules.items;

	for (size_t i = 0; i < symbols->module_count; i++)
		symbols->ranges[i] = (struct module_range){
			.start = modules[i].start,
			.module = (uint32_t)i,
		};
	qsort(symbols->ranges, symbols->module_count, sizeof(*symbols->ranges), by_start);
	for (size_t i = 0; i < symbols->leaf_count; i++) {
		uint32_t module = i < symbols->module_count ? symbols->ranges[i].module : 0;

		symbols->nodes[symbols->leaf_count + i] = i < symbols->module_count
			? (struct tree_node){ modules[module].end, rank_of(modules, module),
				  modules[module].generation }
			: (struct tree_node){ .min_generation = UINT32_MAX };
	}
	for (size_t i = symbols->leaf_count - 1; i; i--) {
		const struct tree_node *left = &symbols->nodes[2 * i], *right = left + 1;

		symbols->nodes[i] = (struct tree_node){
			left->max_end > right->max_end ? left->max_end : right->max_end,
			left->max_rank > right->max_rank ? left->max_rank : right->max_rank,
			left->min_generation < right->min_generation ? left->min_generation
														 : right->min_generation,
		};
	}
}

struct gmt_symbols *gmt_symbols_open(const struct gmt_recording *recording,
	const char *const *directories, size_t directory_count, struct gmt_symbols_cache *cache)
{
	struct gmt_symbols *symbols = gmt_pages_grow(NULL, 0, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->recording = recording;
	symbols->cache = cache;
	symbols->module_count = recording->modules.count;
	symbols->debug_files = gmt_symbols_debug_files_open(directories, directory_count);
	symbols->module_files =
		gmt_pages_grow(NULL, 0, (symbols->module_count + 1) * sizeof(*symbols->module_files));
	symbols->first_of =
		gmt_pages_grow(NULL, 0, (symbols->module_count + 1) * sizeof(*symbols->first_of));
	symbols->ranges =
		gmt_pages_grow(NULL, 0, (symbols->module_count + 1) * sizeof(*symbols->ranges));
	for (symbols->leaf_count = 1; symbols->leaf_count < symbols->module_count;)
		symbols->leaf_count *= 2;
	symbols->nodes = gmt_pages_grow(NULL, 0, 2 * symbols->leaf_count * sizeof(*symbols->nodes));
	if (!symbols->debug_files || !symbols->module_files || !symbols->first_of || !symbols->ranges ||
		!symbols->nodes || !find_first_modules(symbols)) {
		gmt_symbols_close(symbols);
		return NULL;
	}
	sort_ranges(symbols);
	return symbols;
}

/*
 * Returns the highest rank of the modules that contain the address, or `best` if that is higher.
 * Searches the `leaves` leaves of a node, from leaf `first` on and before leaf `end`. Visits the
 * more promising child first.
 */
static uint64_t search(const struct gmt_symbols *symbols, size_t node, size_t first, size_t leaves,
	size_t end, uint32_t generation, uint64_t address, uint64_t best)
{
	const struct tree_node *at = &symbols->nodes[node];
	size_t half = leaves / 2;
	bool right_first;

	if (first >= end || at->max_end <= address || at->min_generation > generation ||
		at->max_rank <= best)
		return best;
	if (leaves == 1)
		return at->max_rank;
	right_first = symbols->nodes[2 * node + 1].max_rank > symbols->nodes[2 * node].max_rank;
	for (int i = 0; i < 2; i++) {
		bool right = (i == 0) == right_first;

		best = search(symbols, 2 * node + right, first + (right ? half : 0), half, end, generation,
			address, best);
	}
	return best;
}

/*
 * Returns the module that contains `address` for stacks of `generation`. Of the modules that
 * existed then, it is the newest, because it replaced the others.
 */
static const struct gmt_module *find_module(const struct gmt_symbols *symbols, uint32_t generation,
	uint64_t address)
{
	size_t begun = GMT_BISECT(at, symbols->module_count, symbols->ranges[at].start <= address);
	uint64_t best = search(symbols, 1, 0, symbols->leaf_count, begun, generation, address, 0);
	return best ? &symbols->recording->modules.items[(uint32_t)best - 1] : NULL;
}

struct candidate {
	struct module_files *module_files;
	const char *build_id;
};

/* Keeps a file if it is useful, else gives it back. Returns false if no better file is possible. */
static bool keep_if_useful(struct candidate *candidate, struct gmt_symbols_elf *elf)
{
	struct module_files *module_files = candidate->module_files;
	bool used = false;

	if (strcmp(gmt_symbols_elf_build_id(elf), candidate->build_id) != 0) {
		gmt_symbols_elf_close(elf);
		return true;
	}
	if (!module_files->functions ||
		(!gmt_symbols_elf_has_all_functions(module_files->functions) &&
			gmt_symbols_elf_has_all_functions(elf))) {
		if (module_files->functions != module_files->lines_file)
			gmt_symbols_elf_close(module_files->functions);
		module_files->functions = elf;
		used = true;
	}
	if (!module_files->lines_file && gmt_symbols_elf_has_lines(elf)) {
		module_files->lines_file = elf;
		used = true;
	}
	if (!used)
		gmt_symbols_elf_close(elf);
	return !(module_files->lines_file &&
		gmt_symbols_elf_has_all_functions(module_files->functions));
}

static bool try_file(void *user, const char *path)
{
	struct candidate *candidate = user;
	struct gmt_symbols_elf *elf = gmt_symbols_elf_open(path);

	return !elf || keep_if_useful(candidate, elf);
}

/* Returns the module's path on this machine. */
static void full_path(const struct gmt_recording *recording, const struct gmt_module *module,
	char ret_path[PATH_MAX])
{
	const char *path = module->path.text;
	const char *directory = *path == '/' ? "" : recording->directory;

	if (snprintf(ret_path, PATH_MAX, "%s%s%s", directory, *directory ? "/" : "", path) >= PATH_MAX)
		ret_path[0] = 0;
}

static void open_module(struct gmt_symbols *symbols, const struct gmt_module *module,
	struct module_files *module_files)
{
	struct candidate candidate = { module_files, module->build_id.text };
	char path[PATH_MAX];

	full_path(symbols->recording, module, path);

	struct gmt_symbols_elf *elf = *path ? gmt_symbols_elf_open(path) : NULL;
	bool is_other = elf && strcmp(gmt_symbols_elf_build_id(elf), candidate.build_id) != 0;
	bool is_verified = *candidate.build_id;

	if (elf)
		keep_if_useful(&candidate, elf);
	/* Search also if the file itself was found: another file may have more symbols, or lines. */
	if (is_verified &&
		!(module_files->lines_file && gmt_symbols_elf_has_all_functions(module_files->functions)))
		gmt_symbols_debug_files_find(symbols->debug_files, candidate.build_id, try_file,
			&candidate);
	if (module_files->functions)
		module_files->state = is_verified ? GMT_SYMBOLS_FOUND : GMT_SYMBOLS_UNVERIFIED;
	else
		module_files->state = is_other ? GMT_SYMBOLS_OTHER_FILE : GMT_SYMBOLS_NO_FILE;
	if (module_files->functions)
		module_files->results = gmt_symbols_cache_get(symbols->cache, module_files->functions,
			module_files->lines_file);
}

static void find_in_files(struct module_files *module_files, struct gmt_symbols_result *result)
{
	struct gmt_symbols_dwarf_frame lines[GMT_SYMBOLS_MAX_FRAMES];
	size_t count = 0;

	if (module_files->lines_file && !module_files->lines_tried) {
		module_files->lines_tried = true;
		module_files->lines =
			gmt_symbols_dwarf_open(gmt_symbols_elf_handle(module_files->lines_file));
	}
	if (module_files->lines)
		count = gmt_symbols_dwarf_find(module_files->lines, result->file_address, lines,
			GMT_SYMBOLS_MAX_FRAMES);
	for (size_t i = 0; i < count; i++)
		result->frames[i] = (struct gmt_symbols_frame){
			lines[i].function,
			lines[i].file,
			lines[i].line,
		};
	result->count = count ? count : 1;

	/*
	 * The symbol table has the full name of the real function. DWARF often has only "operator()".
	 */
	const char *function = module_files->functions
		? gmt_symbols_elf_find_function(module_files->functions, result->file_address)
		: NULL;
	if (function)
		result->frames[result->count - 1].function = function;
}

/* Returns the number of frames of a known result; 0 if there is no result. */
static size_t find_known(const struct module_files *module_files, uint64_t file_address,
	struct gmt_symbols_frame *ret_frames)
{
	return module_files->results
		? gmt_symbols_results_find(module_files->results, file_address, ret_frames)
		: 0;
}

static void find_in_module(struct module_files *module_files, struct gmt_symbols_result *result)
{
	size_t known = find_known(module_files, result->file_address, result->frames);

	if (known) {
		result->count = known;
		return;
	}
	find_in_files(module_files, result);
	/* If memory runs out here, the next run repeats the lookup. */
	if (module_files->results)
		gmt_symbols_results_add(module_files->results, result->file_address, result->frames,
			result->count);
}

/*
 * Finds the call that returns to `address`: its module, with open files, and its address in the
 * file. The return address itself may belong to the next line. After a call that never returns, it
 * may belong to the next function.
 */
static struct module_files *locate(struct gmt_symbols *symbols, uint32_t generation,
	uint64_t address, const struct gmt_module **ret_module, uint64_t *ret_file_address)
{
	uint64_t call = address ? address - 1 : 0;
	const struct gmt_module *module = find_module(symbols, generation, call);
	struct module_files *module_files;

	*ret_module = module;
	*ret_file_address = module ? call - module->bias : call;
	if (!module)
		return NULL;
	module_files =
		&symbols->module_files[symbols->first_of[module - symbols->recording->modules.items]];
	if (module_files->state == GMT_SYMBOLS_UNUSED)
		open_module(symbols, module, module_files);
	return module_files;
}

void gmt_symbols_expect(struct gmt_symbols *symbols, uint32_t generation, uint64_t address)
{
	struct gmt_symbols_frame frames[GMT_SYMBOLS_MAX_FRAMES];
	const struct gmt_module *module;
	uint64_t file_address;
	struct module_files *module_files =
		locate(symbols, generation, address, &module, &file_address);

	if (module_files && module_files->functions && !find_known(module_files, file_address, frames))
		gmt_symbols_elf_expect(module_files->functions, file_address);
}

void gmt_symbols_find(struct gmt_symbols *symbols, uint32_t generation, uint64_t address,
	struct gmt_symbols_result *ret_result)
{
	struct module_files *module_files;

	*ret_result = (struct gmt_symbols_result){ .count = 1 };
	module_files =
		locate(symbols, generation, address, &ret_result->module, &ret_result->file_address);
	if (module_files)
		find_in_module(module_files, ret_result);
}

enum gmt_symbols_state gmt_symbols_state(const struct gmt_symbols *symbols, size_t index)
{
	return symbols->module_files[index].state;
}

void gmt_symbols_close(struct gmt_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; symbols->module_files && i < symbols->module_count; i++) {
		struct module_files *module_files = &symbols->module_files[i];

		gmt_symbols_dwarf_close(module_files->lines);
		if (module_files->lines_file != module_files->functions)
			gmt_symbols_elf_close(module_files->lines_file);
		gmt_symbols_elf_close(module_files->functions);
	}
	gmt_symbols_debug_files_close(symbols->debug_files);
	gmt_pages_free(symbols->module_files,
		(symbols->module_count + 1) * sizeof(*symbols->module_files));
	gmt_pages_free(symbols->first_of, (symbols->module_count + 1) * sizeof(*symbols->first_of));
	gmt_pages_free(symbols->ranges, (symbols->module_count + 1) * sizeof(*symbols->ranges));
	gmt_pages_free(symbols->nodes, 2 * symbols->leaf_count * sizeof(*symbols->nodes));
	gmt_pages_free(symbols, sizeof(*symbols));
}

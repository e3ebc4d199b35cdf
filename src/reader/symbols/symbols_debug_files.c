/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_debug_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "containers/arena.h"
#include "base/pages.h"
#include "containers/vec.h"
#include "reader/symbols/symbols_elf.h"

/* Limits of the search in a user's folder, which may be "/". */
enum { MAX_DEPTH = 8, MAX_FILES = 50000 };

static const char *const system_directory = "/usr/lib/debug";

struct indexed {
	const char *build_id;
	const char *path;
};

struct gmt_symbols_debug_files {
	const char *const *directories;
	size_t directory_count;
	struct gmt_arena arena;
	GMT_VEC(struct indexed) index; /* of all ELF files below the directories */
	bool indexed;
	size_t seen_files;
};

struct gmt_symbols_debug_files *gmt_symbols_debug_files_open(const char *const *directories,
	size_t count)
{
	struct gmt_symbols_debug_files *files = gmt_pages_grow(NULL, 0, sizeof(*files));

	if (files) {
		files->directories = directories;
		files->directory_count = count;
	}
	return files;
}

static void index_file(struct gmt_symbols_debug_files *files, const char *path)
{
	struct gmt_symbols_elf *elf = gmt_symbols_elf_open(path);

	if (elf && *gmt_symbols_elf_build_id(elf)) {
		const char *build_id = gmt_symbols_elf_build_id(elf);
		struct indexed entry = {
			.build_id = gmt_arena_copy(&files->arena, build_id, strlen(build_id)),
			.path = gmt_arena_copy(&files->arena, path, strlen(path)),
		};
		struct indexed *slot = entry.build_id && entry.path ? gmt_vec_push(&files->index) : NULL;

		if (slot)
			*slot = entry;
	}
	gmt_symbols_elf_close(elf);
}

static void index_directory(struct gmt_symbols_debug_files *files, const char *directory,
	unsigned depth)
{
	DIR *stream = depth < MAX_DEPTH ? opendir(directory) : NULL;
	struct dirent *entry;

	if (!stream)
		return;
	while (files->seen_files < MAX_FILES && (entry = readdir(stream))) {
		char path[PATH_MAX];
		struct stat status;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >= (int)sizeof(path))
			continue;
		/* Links to folders are not followed, because they may form a circle. */
		if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
			index_directory(files, path, depth + 1);
			continue;
		}
		files->seen_files++;
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
			index_file(files, path);
	}
	closedir(stream);
}

static bool visit_build_id_tree(const char *directory, const char *build_id,
	bool (*visit)(void *user, const char *path), void *user)
{
	static const char *const endings[] = { ".debug", "" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", directory, build_id,
				build_id + 2, endings[i]) < (int)sizeof(path) &&
			!visit(user, path))
			return false;
	}
	return true;
}

/* The build-id becomes part of a path, so only hexadecimal digits are allowed. */
static bool is_build_id(const char *text)
{
	size_t length = strspn(text, "0123456789abcdef");

	return length > 4 && length < 256 && !text[length];
}

void gmt_symbols_debug_files_find(struct gmt_symbols_debug_files *files, const char *build_id,
	bool (*visit)(void *user, const char *path), void *user)
{
	if (!is_build_id(build_id))
		return;
	for (size_t i = 0; i < files->directory_count; i++)
		if (!visit_build_id_tree(files->directories[i], build_id, visit, user))
			return;
	if (!files->indexed) {
		files->indexed = true;
		for (size_t i = 0; i < files->directory_count; i++)
			index_directory(files, files->directories[i], 0);
	}
	for (size_t i = 0; i < files->index.count; i++)
		if (strcmp(files->index.items[i].build_id, build_id) == 0 &&
			!visit(user, files->index.items[i].path))
			return;
	visit_build_id_tree(system_directory, build_id, visit, user);
}

void gmt_symbols_debug_files_close(struct gmt_symbols_debug_files *files)
{
	if (!files)
		return;
	gmt_vec_fini(&files->index);
	gmt_arena_fini(&files->arena);
	gmt_pages_free(files, sizeof(*files));
}

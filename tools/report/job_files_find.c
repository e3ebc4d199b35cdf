/* SPDX-License-Identifier: MIT */
/* Finds the files that operands name. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/output/message.h"
#include "tools/output/exit_codes.h"
#include "tools/report/job_files.h"

enum { MAX_DEPTH = 8 };

static void add_file(struct gmt_job_files *files, const char *path, bool is_operand)
{
	struct gmt_job_file *file = gmt_vec_push(&files->files);
	char *copy = gmt_arena_copy(&files->store.arena, path, strlen(path));

	if (!file || !copy) {
		files->files.count -= file != NULL;
		files->is_out_of_memory = true;
		return;
	}
	*file = (struct gmt_job_file){ .path = copy, .is_operand = is_operand };
}

/* Adds the files in a folder. Does not follow links, so no folder is read twice. */
static void add_folder(struct gmt_job_files *files, const char *folder, unsigned depth)
{
	DIR *stream = opendir(folder);
	const struct dirent *entry;

	if (!stream) {
		gmt_job_files_remark(files, "%s: cannot be opened: %s", folder, strerror(errno));
		files->unreadable++;
		return;
	}
	while ((entry = readdir(stream))) {
		char path[PATH_MAX];
		struct stat status;

		if (entry->d_name[0] == '.' ||
			(size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= sizeof(path))
			continue;
		if (entry->d_type == DT_REG)
			add_file(files, path, false);
		else if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
			fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0) {
			if (S_ISDIR(status.st_mode) && depth < MAX_DEPTH)
				add_folder(files, path, depth + 1);
			else if (S_ISREG(status.st_mode))
				add_file(files, path, false);
		}
	}
	closedir(stream);
}

static int compare_paths(const void *a, const void *b)
{
	const struct gmt_job_file *left = a, *right = b;

	return strcmp(left->path, right->path);
}

int gmt_job_files_find(struct gmt_job_files *ret_files, int count, char **operands)
{
	int code = 0;

	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		struct stat status;
		size_t length = strlen(operands[i]);

		if (stat(operands[i], &status)) {
			gmt_message_error("%s: cannot be opened: %s", operands[i], strerror(errno));
			ret_files->unreadable++;
			code = GMT_EXIT_UNREADABLE;
			continue;
		}
		if (!S_ISDIR(status.st_mode)) {
			add_file(ret_files, operands[i], true);
			continue;
		}
		while (length > 1 && operands[i][length - 1] == '/')
			length--;
		snprintf(path, sizeof(path), "%.*s", (int)length, operands[i]);
		add_folder(ret_files, path, 0);
	}
	if (ret_files->files.count)
		qsort(ret_files->files.items, ret_files->files.count, sizeof(*ret_files->files.items),
			compare_paths);
	/* A file that the operands name twice counts once. */
	size_t kept = 0;
	for (size_t i = 0; i < ret_files->files.count; i++) {
		struct gmt_job_file *file = &ret_files->files.items[i];
		struct gmt_job_file *before = kept ? &ret_files->files.items[kept - 1] : NULL;

		if (before && strcmp(file->path, before->path) == 0)
			before->is_operand |= file->is_operand;
		else
			ret_files->files.items[kept++] = *file;
	}
	ret_files->files.count = kept;
	return code;
}

/* SPDX-License-Identifier: MIT */
#include "tools/output/output_target.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "system/recording_name.h"
#include "base/text.h"
#include "shared_memory/shared_recording_reader.h"
#include "source/source.h"

enum { MAX_LINKS = 40 };

/*
 * Writes the folder of `path`, with a slash at its end; "./" if `path` has no folder. Returns false
 * if it is too long.
 */
static bool folder_of(const char *path, char *ret_folder, size_t bytes)
{
	const char *slash = strrchr(path, '/');

	return slash
		? (size_t)snprintf(ret_folder, bytes, "%.*s", (int)(slash + 1 - path), path) < bytes
		: (size_t)snprintf(ret_folder, bytes, "./") < bytes;
}

/*
 * Returns whether the folder is in /proc. The text of a link in /proc/PID/fd is not a path: the
 * kernel opens the file itself.
 */
static bool is_kernel_link(const char *folder)
{
	struct statfs status;

	return !statfs(folder, &status) && status.f_type == PROC_SUPER_MAGIC;
}

/*
 * Returns the descriptor number if the link lies in this process's folder of descriptors, else -1.
 */
static int own_descriptor(const char *folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	char real[PATH_MAX], own[64];
	uint64_t number;
	int length = snprintf(own, sizeof(own), "/proc/%ld/", (long)getpid());

	if (!realpath(folder, real) || strncmp(real, own, (size_t)length) != 0 ||
		strcmp(strrchr(real, '/'), "/fd") != 0 ||
		!gmt_text_parse_u64(slash ? slash + 1 : path, &number) || number > INT_MAX)
		return -1;
	return (int)number;
}

/* Replaces `path` with the target of the link at `path`. Returns 0 or an errno. */
static int follow_link(char path[PATH_MAX], const char *folder)
{
	char text[PATH_MAX], next[PATH_MAX];
	ssize_t length = readlink(path, text, sizeof(text) - 1);

	if (length < 0)
		return errno;
	text[length] = 0;
	if (snprintf(next, sizeof(next), "%s%s", text[0] == '/' ? "" : folder, text) >=
		(int)sizeof(next))
		return ENAMETOOLONG;
	strcpy(path, next);
	return 0;
}

/* Inspects the final file: `target->path`, or the descriptor. Returns 0 or an errno. */
static int inspect(struct gmt_output_target *target)
{
	bool is_descriptor = target->kind == GMT_OUTPUT_DESCRIPTOR;

	if (is_descriptor ? fstat(target->descriptor, &target->status)
					  : stat(target->path, &target->status))
		return errno == ENOENT && target->kind == GMT_OUTPUT_FILE ? 0 : errno;
	target->exists = true;
	if (S_ISDIR(target->status.st_mode))
		return EISDIR;
	if (!S_ISREG(target->status.st_mode) && !is_descriptor)
		target->kind = GMT_OUTPUT_SPECIAL;
	return 0;
}

int gmt_output_target_find(const char *path, struct gmt_output_target *ret_target)
{
	char *at = ret_target->path, folder[PATH_MAX];
	struct stat status;
	int error_number;

	*ret_target = (struct gmt_output_target){ .kind = GMT_OUTPUT_FILE, .descriptor = -1 };
	if ((size_t)snprintf(at, PATH_MAX, "%s", path) >= PATH_MAX)
		return ENAMETOOLONG;
	for (int links = 0; !lstat(at, &status) && S_ISLNK(status.st_mode); links++) {
		if (links == MAX_LINKS)
			return ELOOP;
		if (!folder_of(at, folder, sizeof(folder)))
			return ENAMETOOLONG;
		if (is_kernel_link(folder)) {
			ret_target->descriptor = own_descriptor(folder, at);
			ret_target->kind =
				ret_target->descriptor < 0 ? GMT_OUTPUT_SPECIAL : GMT_OUTPUT_DESCRIPTOR;
			break;
		}
		error_number = follow_link(at, folder);
		if (error_number)
			return error_number;
	}
	return inspect(ret_target);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_input(const struct gmt_output_target *target, const struct gmt_output_rules *rules)
{
	struct stat status;

	for (size_t list = 0; list < GMT_OUTPUT_INPUTS; list++)
		for (size_t i = 0; i < rules->inputs[list].count; i++) {
			const char *path = rules->inputs[list].items[i];

			if (path && !stat(path, &status) && is_same_file(&status, &target->status))
				return true;
		}
	return false;
}

/* Returns whether `path` can be read as a recording, or as a shared-memory recording. */
static bool is_recording(const char *path)
{
	struct gmt_shared_recording *shared_recording = NULL;
	struct gmt_source *source = NULL;
	enum gmt_status status = gmt_source_open(path, &source, NULL);

	if (!status)
		gmt_source_close(source);
	if (!status || status == GMT_VERSION)
		return true;
	status = gmt_shared_recording_open(path, &shared_recording, NULL);
	gmt_shared_recording_close(shared_recording);
	return !status || status == GMT_VERSION;
}

const char *gmt_output_target_refusal(const struct gmt_output_target *target, const char *path,
	const struct gmt_output_rules *rules)
{
	char open_file[64];
	const char *content = target->path;

	if (rules->force || !target->exists || !S_ISREG(target->status.st_mode))
		return NULL;
	if (is_input(target, rules))
		return "is an input of this command and was not overwritten";
	if (target->kind == GMT_OUTPUT_DESCRIPTOR) {
		snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", target->descriptor);
		content = open_file;
	}
	if (is_recording(content))
		return "is a recording and was not overwritten";
	if (gmt_recording_name_matches(path) || gmt_recording_name_matches(target->path))
		return "has the name of a recording and was not overwritten";
	return NULL;
}

/* Returns whether both paths are the same name in the same folder. */
static bool is_same_name(const char *a, const char *b)
{
	char folder_a[PATH_MAX], folder_b[PATH_MAX];
	const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
	struct stat about_a, about_b;

	return strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) == 0 &&
		folder_of(a, folder_a, sizeof(folder_a)) && folder_of(b, folder_b, sizeof(folder_b)) &&
		!stat(folder_a, &about_a) && !stat(folder_b, &about_b) && is_same_file(&about_a, &about_b);
}

bool gmt_output_target_is_same(const struct gmt_output_target *a, const struct gmt_output_target *b)
{
	if (a->exists && b->exists)
		return S_ISREG(a->status.st_mode) && is_same_file(&a->status, &b->status);
	return !a->exists && !b->exists && is_same_name(a->path, b->path);
}

/* SPDX-License-Identifier: MIT */
#include "tools/recordings/recorder_output_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/file_identity.h"
#include "base/uuid.h"
#include "tools/output/message.h"

/*
 * Copies the name up to its first token, such as %p, and replaces "%%" by '%'. Returns whether it
 * copied the whole name, because it has no token.
 */
static bool copy_to_token(const char *output, char ret_start[PATH_MAX])
{
	size_t length = 0;

	for (; *output && length < PATH_MAX - 1; output++) {
		if (*output == '%' && *++output != '%')
			break;
		ret_start[length++] = *output;
	}
	ret_start[length] = 0;
	return !*output;
}

/* Removes the last part of a path. "" becomes ".". */
static void to_folder(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path] = 0;
	else
		strcpy(path, ".");
}

/* Returns whether a file can be created in the folder. Sets errno on failure. */
static bool can_create_file(const char *folder)
{
	char path[PATH_MAX + 64], random[GMT_UUID_BYTES];
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0) {
		gmt_uuid_make(random);
		snprintf(path, sizeof(path), "%s/.gpumemtrace-%s-%d", folder, random, (int)getpid());
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			unlink(path);
	}
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool gmt_recorder_output_check(const char *output)
{
	char path[PATH_MAX];
	bool is_whole = copy_to_token(output, path);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct stat status;

	if (is_whole && gmt_file_is_device(path)) {
		gmt_message_error("run: -o %s: is a device: name a file", output);
		return false;
	}
	if (strlen(name) > NAME_MAX || (is_whole && !*name)) {
		gmt_message_error("run: -o %s: %s", output,
			*name ? strerror(ENAMETOOLONG) : "is a folder: name a file");
		return false;
	}
	/*
	 * The name of the folder is not known yet. The folder may exist and accept files although the
	 * folder above it does not.
	 */
	if (!is_whole && strchr(output + strcspn(output, "%"), '/'))
		return true;
	/* The recorder creates missing folders. */
	do
		to_folder(path);
	while (stat(path, &status) && errno == ENOENT && strcmp(path, ".") && strcmp(path, "/"));
	if (can_create_file(path))
		return true;
	gmt_message_error("run: -o %s: cannot create a file in %s: %s", output, path, strerror(errno));
	return false;
}

/* SPDX-License-Identifier: MIT */
#include "tools/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/file_io.h"
#include "base/safe_stream.h"
#include "tools/output/document_stream.h"
#include "tools/output/exit_codes.h"
#include "tools/output/output_temporary.h"
#include "tools/output/message.h"

struct gmt_output {
	const char *name;   /* as the user gave it */
	struct gmt_output_rules rules;
	struct gmt_output_target target;
	FILE *file;         /* stdout, or this output's own stream */
	int fd;             /* for binary data; else -1 */
	/* the folder accepts no new file, so the old file is overwritten once all data is there */
	bool will_overwrite;
	struct gmt_output_temporary temporary;
};

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

static int report_failure(const char *name, int error_number)
{
	gmt_message_error("%s: %s", name, error_number ? strerror(error_number) : "cannot be written");
	return GMT_EXIT_UNREADABLE;
}

static bool is_allowed(const struct gmt_output_target *target, const char *path,
	const struct gmt_output_rules *rules)
{
	const char *reason = gmt_output_target_refusal(target, path, rules);

	if (!reason)
		return true;
	gmt_message_error("%s %s", path, reason);
	gmt_message_hint(rules->has_no_force
			? "choose another file"
			: "choose another file, or use --force to replace this one");
	return false;
}

/*
 * Checks stdout. With `>`, the shell has already emptied the file, so this check matters for `>>`.
 */
static bool may_write_stdout(const struct gmt_output_rules *rules)
{
	struct gmt_output_target target = { .kind = GMT_OUTPUT_DESCRIPTOR,
		.descriptor = STDOUT_FILENO };

	const char *reason;

	target.exists = !fstat(STDOUT_FILENO, &target.status) && target.status.st_size;
	reason = gmt_output_target_refusal(&target, "", rules);
	if (reason)
		gmt_message_error("standard output %s", reason);
	return !reason;
}

bool gmt_output_may_write(const char *path, const struct gmt_output_rules *rules)
{
	struct gmt_output_target target;
	int error_number;

	if (is_stdout(path))
		return may_write_stdout(rules);
	error_number = gmt_output_target_find(path, &target);
	if (error_number)
		report_failure(path, error_number);
	return !error_number && is_allowed(&target, path, rules);
}

bool gmt_output_paths_differ(const char *verb, const char *const *paths, size_t count)
{
	struct gmt_output_target first, second;

	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++) {
			if (is_stdout(paths[i]) || is_stdout(paths[j]) ||
				gmt_output_target_find(paths[i], &first) ||
				gmt_output_target_find(paths[j], &second) ||
				!gmt_output_target_is_same(&first, &second))
				continue;
			gmt_message_error("%s: %s and %s are the same file; each output needs its own", verb,
				paths[i], paths[j]);
			return false;
		}
	return true;
}

/* Gives the new file the owner and mode of the old file, so that the same users can read it. */
static void copy_permissions(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;

	/*
	 * Only root may change the owner. If the group cannot be kept either, remove the group's
	 * rights, because they were meant for another group.
	 */
	if (fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid))
		mode &= ~(mode_t)S_IRWXG;
	fchmod(fd, mode);
}

/*
 * If the folder accepts no new files but the old file is writable, opens a nameless temporary file.
 * overwrite_contents() later copies it over the old file.
 */
static bool open_nameless_temporary(struct gmt_output *output)
{
	int error_number = errno, old;
	FILE *file;

	if (!output->target.exists ||
		(error_number != EACCES && error_number != EPERM && error_number != EROFS))
		return false;
	old = open(output->target.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	file = old >= 0 ? tmpfile() : NULL;
	error_number = errno;
	if (old >= 0)
		close(old);
	if (file) {
		output->temporary.fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
		error_number = errno;
		fclose(file);
	}
	output->will_overwrite = output->temporary.fd >= 0;
	errno = error_number;
	return output->will_overwrite;
}

/* Returns the descriptor to write to, which the caller closes. Returns -1 with errno on failure. */
static int open_target(struct gmt_output *output, mode_t mode)
{
	struct gmt_output_target *target = &output->target;

	if (target->kind == GMT_OUTPUT_DESCRIPTOR)
		return fcntl(target->descriptor, F_DUPFD_CLOEXEC, 3);
	if (target->kind == GMT_OUTPUT_SPECIAL)
		return open(target->path,
			O_WRONLY | O_CLOEXEC | O_NOCTTY | (S_ISREG(target->status.st_mode) ? O_TRUNC : 0));
	if (!gmt_output_temporary_create(target->path, target->exists ? 0600 : mode,
			&output->temporary) &&
		!open_nameless_temporary(output))
		return -1;
	if (target->exists && !output->will_overwrite)
		copy_permissions(output->temporary.fd, &target->status);
	return fcntl(output->temporary.fd, F_DUPFD_CLOEXEC, 3);
}

/* Frees an output. Removes its temporary file if it still exists. */
static void free_output(struct gmt_output *output)
{
	gmt_output_temporary_remove(&output->temporary);
	free(output);
}

static struct gmt_output *open_output(const char *path, const struct gmt_output_rules *rules,
	mode_t mode)
{
	struct gmt_output *output = calloc(1, sizeof(*output));
	int error_number;

	if (!output) {
		gmt_message_error("out of memory");
		return NULL;
	}
	*output =
		(struct gmt_output){ .name = path, .rules = *rules, .fd = -1, .temporary = { .fd = -1 } };
	error_number = gmt_output_target_find(path, &output->target);
	if (!error_number && !is_allowed(&output->target, path, rules)) {
		free_output(output);
		return NULL;
	}
	if (!error_number && (output->fd = open_target(output, mode)) < 0)
		error_number = errno;
	if (!error_number)
		return output;
	report_failure(path, error_number);
	free_output(output);
	return NULL;
}

struct gmt_output *gmt_output_open(const char *path, const struct gmt_output_rules *rules)
{
	struct gmt_output *output;

	if (is_stdout(path)) {
		output = may_write_stdout(rules) ? calloc(1, sizeof(*output)) : NULL;
		if (output)
			*output = (struct gmt_output){ .file = stdout, .fd = -1, .temporary = { .fd = -1 } };
		return output;
	}
	output = open_output(path, rules, 0666);
	if (!output)
		return NULL;
	output->file = gmt_safe_stream_open(output->fd);
	if (output->file) {
		output->fd = -1;
		return output;
	}
	gmt_message_error("out of memory");
	gmt_output_discard(output);
	return NULL;
}

struct gmt_output *gmt_output_open_bytes(const char *path, const struct gmt_output_rules *rules)
{
	return open_output(path, rules, 0600);
}

struct gmt_output *gmt_output_open_document(const char *path, const struct gmt_output_rules *rules)
{
	struct gmt_output *output = open_output(is_stdout(path) ? "/dev/stdout" : path, rules, 0666);

	if (!output)
		return NULL;
	if (is_stdout(path))
		output->name = "standard output";
	output->file = gmt_document_stream(output->fd);
	if (output->file) {
		output->fd = -1;
		return output;
	}
	gmt_message_error("out of memory");
	gmt_output_discard(output);
	return NULL;
}

FILE *gmt_output_file(struct gmt_output *output)
{
	return output->file;
}

int gmt_output_descriptor(const struct gmt_output *output)
{
	return output->fd;
}

/* Closes the stream or descriptor. Returns 0 or an errno. */
static int close_stream(struct gmt_output *output)
{
	bool had_error = false, done;

	errno = 0;
	if (output->file && output->file != stdout) {
		had_error = ferror(output->file);
		done = !fclose(output->file) && !had_error;
	} else {
		done = output->fd < 0 || !close(output->fd);
	}
	output->file = NULL;
	output->fd = -1;
	return done ? 0 : errno ? errno : EIO;
}

void gmt_output_discard(struct gmt_output *output)
{
	if (!output)
		return;
	close_stream(output);
	free_output(output);
}

/*
 * Copies all data over the old file. Allocates the space first, so that the old data is intact if
 * there is not enough space.
 */
static bool overwrite_contents(const char *name, int from, int to, off_t size, off_t old_size)
{
	char bytes[1 << 16];

	if (size > old_size && fallocate(to, 0, 0, size) && errno != EOPNOTSUPP && errno != ENOSYS) {
		int error_number = errno;

		if (ftruncate(to, old_size))
			gmt_message_warning("%s: its end may be filled with zeros: %s", name, strerror(errno));
		errno = error_number;
		return false;
	}
	for (off_t at = 0; at < size;) {
		size_t part = size - at < (off_t)sizeof(bytes) ? (size_t)(size - at) : sizeof(bytes);

		if (!gmt_file_read_at(from, (uint64_t)at, bytes, part) ||
			!gmt_file_write_at(to, (uint64_t)at, bytes, part))
			return false;
		at += (off_t)part;
	}
	return !ftruncate(to, size);
}

/* Overwrites the old file with all data. Returns 0 or an errno. */
static int overwrite(struct gmt_output *output)
{
	int to = open(output->target.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), error_number;
	struct stat new, old;
	bool done = to >= 0 && !fstat(to, &old) && !fstat(output->temporary.fd, &new) &&
		overwrite_contents(output->name, output->temporary.fd, to, new.st_size, old.st_size);

	error_number = errno;
	if (to >= 0 && close(to) && done) {
		done = false;
		error_number = errno;
	}
	return done ? 0 : error_number;
}

/* Checks the rules again, because a recording may have taken the target's name meanwhile. */
static bool is_still_allowed(struct gmt_output *output)
{
	struct gmt_output_target now;

	return gmt_output_target_find(output->target.path, &now) ||
		(now.exists && output->target.exists &&
			now.status.st_ino == output->target.status.st_ino) ||
		is_allowed(&now, output->name, &output->rules);
}

/* Gives the complete file its name. Returns 0 or an errno. */
static int publish(struct gmt_output *output)
{
	if (fsync(output->temporary.fd) && errno != EINVAL && errno != EROFS)
		return errno;
	if (output->will_overwrite)
		return overwrite(output);
	if (gmt_output_temporary_rename(&output->temporary, output->target.path))
		return 0;
	/*
	 * Happens with a mount on the file itself, or with another user's file in a folder such as
	 * /tmp.
	 */
	return errno == EBUSY || errno == EPERM || errno == EACCES ? overwrite(output) : errno;
}

static bool is_empty(const struct gmt_output *output)
{
	struct stat status;

	return output->temporary.fd >= 0 && !fstat(output->temporary.fd, &status) && !status.st_size;
}

int gmt_output_close(struct gmt_output *output, int code)
{
	int error_number;

	if (!output)
		return code;
	if (output->file == stdout) {
		free_output(output);
		return code;
	}
	error_number = close_stream(output);
	if (output->temporary.fd >= 0 && !error_number) {
		if (is_empty(output) && (code == GMT_EXIT_USAGE || code == GMT_EXIT_UNREADABLE)) {
			free_output(output);
			return code;
		}
		if (!is_still_allowed(output)) {
			free_output(output);
			return GMT_EXIT_UNREADABLE;
		}
		error_number = publish(output);
	}
	/* If the reader of a pipe has gone away, that is not an error. */
	if (error_number && error_number != EPIPE)
		code = report_failure(output->name, error_number);
	free_output(output);
	return code;
}

/* Appends in one write, because other processes may append too. Returns 0 or an errno. */
static int append_once(int fd, const char *text, size_t length)
{
	struct stat old, now;
	ssize_t written;

	if (fstat(fd, &old))
		return errno;
	written = write(fd, text, length);
	if (written == (ssize_t)length)
		return 0;

	int error_number = written < 0 ? errno : ENOSPC;
	if (written > 0 && S_ISREG(old.st_mode) && !fstat(fd, &now) &&
		now.st_size == old.st_size + written && ftruncate(fd, old.st_size))
		error_number = errno;
	return error_number;
}

bool gmt_output_append(const char *path, const struct gmt_output_rules *rules, const char *text,
	size_t length)
{
	struct gmt_output_target target;
	int error_number = gmt_output_target_find(path, &target), fd;

	if (!error_number && !is_allowed(&target, path, rules))
		return false;
	fd = error_number ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (!error_number && fd < 0)
		error_number = errno;
	if (fd >= 0) {
		error_number = append_once(fd, text, length);
		if (close(fd) && !error_number)
			error_number = errno;
	}
	if (error_number)
		report_failure(path, error_number);
	return !error_number;
}

/* Returns whether the reader has closed its end of the pipe, also if the write's errno is gone. */
static bool reader_is_gone(int fd)
{
	struct pollfd pipe_end = { .fd = fd, .events = POLLOUT };

	return poll(&pipe_end, 1, 0) == 1 && (pipe_end.revents & POLLERR);
}

int gmt_output_finish_stdout(int code)
{
	/* Without data, this succeeds even if stdout was closed from the start. */
	int error_number = fflush(stdout) ? errno : 0;
	bool had_error = error_number || ferror(stdout);
	bool is_gone = had_error && reader_is_gone(STDOUT_FILENO);

	errno = 0;
	if (!fclose(stdout) && !had_error)
		return code;
	error_number = error_number ? error_number : errno;
	/* No data is lost if stdout was closed from the start and never used. */
	if (error_number == EBADF && !had_error)
		return code;
	return error_number == EPIPE || is_gone ? code
											: report_failure("standard output", error_number);
}

bool gmt_output_enable_color(FILE *file, enum gmt_color color)
{
	const char *force = getenv("CLICOLOR_FORCE"), *none = getenv("NO_COLOR"),
			   *term = getenv("TERM");
	bool is_wanted = color == GMT_COLOR_ALWAYS;

	if (color == GMT_COLOR_AUTO && !(none && *none))
		is_wanted = (force && *force && strcmp(force, "0") != 0) ||
			(isatty(gmt_safe_stream_descriptor(file)) && !(term && strcmp(term, "dumb") == 0));
	if (is_wanted)
		gmt_safe_stream_allow_styles(file);
	return is_wanted;
}

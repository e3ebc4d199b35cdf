/* SPDX-License-Identifier: MIT */
/* Opens files and streams as sources. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"
#include "format/encoding/little_endian.h"
#include "format/format.h"
#include "source/recovery.h"
#include "source/source_state.h"

static enum gmt_status open_file(struct gmt_source *source, struct gmt_error *error)
{
	struct stat status;

	if (source->fd < 0)
		source->fd = open(source->path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0)
		return gmt_error_set(error, GMT_NO_FILE, "%s: %s", source->path, strerror(errno));
	if (fstat(source->fd, &status))
		return gmt_error_set(error, GMT_NO_FILE, "%s: %s", source->path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return gmt_error_set(error, GMT_NO_FILE, "%s: is a directory, not a recording",
			source->path);
	if (S_ISREG(status.st_mode) && !status.st_size)
		return gmt_error_set(error, GMT_FORMAT,
			"%s: is empty: the recording ended before anything was written", source->path);
	source->progress.file_bytes = source->part_bytes = (uint64_t)status.st_size;
	source->has_limit = S_ISREG(status.st_mode);
	return GMT_OK;
}

static enum gmt_status check_header(struct gmt_source *source, struct gmt_error *error)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	bool is_all, is_ours, is_whole;

	/* A pipe may give one byte at first. */
	if (!gmt_source_add_input(source, 0) ||
		(source->bytes.in_bytes < 2 && !gmt_source_add_input(source, 1) && source->failed))
		return gmt_error_set(error, source->has_failed_read ? GMT_NO_FILE : GMT_FORMAT,
			source->has_failed_read ? "%s: cannot be read: %s" : "%s: %s", source->path,
			source->failed ? source->failure : "is empty");
	if (source->bytes.in_bytes < 2 || source->in[0] != 0x1f || source->in[1] != 0x8b)
		return gmt_error_set(error, GMT_FORMAT,
			"%s: is not a gzip file, so not a gpumemtrace recording", source->path);
	is_all = gmt_source_inflate(source, header, sizeof(header)) == sizeof(header);
	is_ours = is_all && memcmp(header, GMT_FORMAT_MAGIC, 8) == 0;
	is_whole = is_all && gmt_get_u32(header + 16) == gmt_checksum(0, header, 16);
	if (!is_all || (source->is_cut && !(is_ours && is_whole)))
		return gmt_error_set(error, source->has_failed_read ? GMT_NO_FILE : GMT_FORMAT,
			"%s: cannot be read: %s", source->path,
			source->failed && !source->is_cut ? source->failure : "it ends within its header");
	if (!is_ours)
		return gmt_error_set(error, GMT_FORMAT, "%s: is gzip, but not a gpumemtrace recording",
			source->path);
	if (!is_whole)
		return gmt_error_set(error, GMT_FORMAT, "%s: its header is damaged", source->path);
	if (gmt_get_u16(header + 8) > GMT_FORMAT_MAJOR ||
		(gmt_get_u32(header + 12) & ~(uint32_t)GMT_FEATURES_KNOWN))
		return gmt_error_set(error, GMT_VERSION,
			"%s: has format %u.%u (features %#x), but this gpumemtrace reads %d.x: use a newer "
			"gpumemtrace",
			source->path, gmt_get_u16(header + 8), gmt_get_u16(header + 10),
			gmt_get_u32(header + 12), GMT_FORMAT_MAJOR);
	return GMT_OK;
}

/* Makes a source without the file and the fields that depend on it. */
static enum gmt_status make(const char *path, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	struct gmt_source *source;

	*ret_source = NULL;
	if (path && strlen(path) >= sizeof(source->path_copy))
		return gmt_error_set(error, GMT_NO_FILE, "%.64s...: %s", path, strerror(ENAMETOOLONG));
	source = gmt_pages_grow(NULL, 0, sizeof(*source));
	if (!source)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	source->path = strcpy(source->path_copy, path ? path : "");
	source->fd = -1;
	source->in_member = true;
	source->inflating = gmt_inflate_open(&source->memory);
	if (!source->inflating) {
		gmt_source_close(source);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	gmt_inflate_begin(source->inflating);
	*ret_source = source;
	return GMT_OK;
}

enum gmt_status gmt_source_open_part(int fd, uint64_t end_bytes, const char *path,
	struct gmt_source **ret_source, struct gmt_error *error)
{
	struct gmt_source *source;
	enum gmt_status status = make(path, &source, error);

	*ret_source = NULL;
	if (status)
		return status;
	source->is_part = true;
	source->fd = fd;
	source->part_bytes = source->progress.file_bytes = end_bytes;
	status = check_header(source, error);
	if (status)
		gmt_source_close(source);
	else
		*ret_source = source;
	return status;
}

enum gmt_status gmt_source_open_growing(int fd, const char *path, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	enum gmt_status status = gmt_source_open_descriptor(fd, path, NULL, ret_source, error);

	if (!status) {
		(*ret_source)->is_growing = true;
		(*ret_source)->has_limit = false;
	}
	return status;
}

enum gmt_status gmt_source_open_stream(const struct gmt_source_stream *stream,
	struct gmt_source **ret_source, struct gmt_error *error)
{
	struct gmt_source *source;
	enum gmt_status status = make(stream->name, &source, error);

	*ret_source = NULL;
	if (status)
		return status;
	source->stream = stream;
	status = check_header(source, error);
	if (status)
		gmt_source_close(source);
	else
		*ret_source = source;
	return status;
}

bool gmt_source_may_use_thread(const struct gmt_source *source, uint64_t bytes)
{
	return source->stream ? source->stream->allows_any_thread
						  : !source->file_is_over &&
			(!source->progress.file_bytes || source->progress.file_bytes >= bytes);
}

/* Opens the file and reads its header. */
static enum gmt_status begin(struct gmt_source *source, const char *path, struct gmt_error *error)
{
	enum gmt_status status;

	if (!path) {
		source->file_is_over = true;
		return GMT_OK;
	}
	status = open_file(source, error);
	if (!status)
		status = check_header(source, error);
	/* A recorder that was killed in its first second may have written nothing. */
	if (source->recovery && (status == GMT_FORMAT || status == GMT_NO_FILE)) {
		source->file_is_over = true;
		return GMT_OK;
	}
	return status;
}

enum gmt_status gmt_source_open(const char *path, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	return gmt_source_open_with(path, NULL, ret_source, error);
}

enum gmt_status gmt_source_open_with(const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	return gmt_source_open_descriptor(-1, path, shared_recording, ret_source, error);
}

enum gmt_status gmt_source_open_descriptor(int fd, const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error)
{
	struct gmt_source *source;
	enum gmt_status status = make(path, &source, error);

	*ret_source = NULL;
	if (status)
		return status;
	/* The duplicate shares its position with the caller's descriptor. */
	if (fd >= 0 &&
		((source->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0 || lseek(source->fd, 0, SEEK_SET) < 0)) {
		gmt_error_set(error, GMT_NO_FILE, "%s: %s", path, strerror(errno));
		gmt_source_close(source);
		return GMT_NO_FILE;
	}
	source->recovery = shared_recording ? gmt_recovery_new(shared_recording) : NULL;
	if (shared_recording && !source->recovery)
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	else
		status = begin(source, path, error);
	if (status) {
		gmt_source_close(source);
		return status;
	}
	*ret_source = source;
	return GMT_OK;
}

bool gmt_source_is_just_begun(int fd)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];
	struct gmt_source *source;
	struct stat status;
	size_t got;
	bool is_begun;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return false;
	if (!status.st_size)
		return true;
	if (make(NULL, &source, NULL))
		return false;
	source->fd = fd;
	source->is_part = true;
	source->part_bytes = (uint64_t)status.st_size;
	is_begun = gmt_source_add_input(source, 0) && source->in[0] == 0x1f &&
		(source->bytes.in_bytes < 2 || source->in[1] == 0x8b);
	got = is_begun ? gmt_source_inflate(source, header, sizeof(header)) : 0;
	is_begun = is_begun && got < sizeof(header) && source->is_cut &&
		!memcmp(header, GMT_FORMAT_MAGIC, got < 8 ? got : 8);
	gmt_source_close(source);
	return is_begun;
}

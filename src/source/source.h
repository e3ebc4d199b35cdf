/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_SOURCE_H
#define GMT_SOURCE_SOURCE_H

/*
 * Reads a gzip file as blocks. In the flow: file -> source -> decode. Reads forward once. Its
 * memory use depends on the largest block. The checksum of each returned block is correct. One
 * thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "format/encoding/block.h"
#include "format/file/find_members.h"

struct gmt_source;
struct gmt_shared_recording;

struct gmt_source_progress {
	uint64_t read_bytes; /* bytes read from the compressed file */
	uint64_t file_bytes; /* 0: unknown, because the input is a pipe or a stream */
};

/*
 * Bytes that do not come from a file. `read` reads up to `bytes` next bytes to `buffer`. It returns
 * their number, 0 at the end, or -1 on failure; errno then has the reason or is 0.
 */
struct gmt_source_stream {
	int64_t (*read)(void *user, void *buffer, size_t bytes);
	void *user;
	const char *name; /* for messages */
	bool allows_any_thread; /* `read` may be called by a thread that is not the caller's */
};

/*
 * Opens `path` and reads its header. Returns GMT_NO_FILE, GMT_FORMAT or GMT_VERSION on failure; the
 * error text names the path.
 */
enum gmt_status gmt_source_open(const char *path, struct gmt_source **ret_source,
	struct gmt_error *error);

/*
 * Same for the first `end_bytes` of an open file, as if it ended there. `fd` stays the caller's,
 * and its position does not change. `path` is for messages.
 */
enum gmt_status gmt_source_open_part(int fd, uint64_t end_bytes, const char *path,
	struct gmt_source **ret_source, struct gmt_error *error);

/*
 * Same, with the memory that the recorder of that file left (shared_recording_reader.h): its blocks
 * follow the readable blocks of the file. `shared_recording` stays the caller's and must outlive
 * the source. `path` may be NULL: the file is gone.
 */
enum gmt_status gmt_source_open_with(const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error);

/*
 * Same, from the beginning of the open file `fd`, unless `fd` is -1. `fd` stays the caller's, but
 * its position changes. `path` is then only for messages. `shared_recording` may be NULL.
 */
enum gmt_status gmt_source_open_descriptor(int fd, const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error);

/*
 * Same, for a file that its recorder still writes. gmt_source_next returns GMT_END where the file
 * ends now, also within a block. A later call continues there. It fails like gmt_source_open while
 * the file does not have its whole header.
 */
enum gmt_status gmt_source_open_growing(int fd, const char *path, struct gmt_source **ret_source,
	struct gmt_error *error);

/*
 * Same, from a stream, which stays the caller's and must outlive the source. If a read fails,
 * gmt_source_next returns GMT_NO_FILE.
 */
enum gmt_status gmt_source_open_stream(const struct gmt_source_stream *stream,
	struct gmt_source **ret_source, struct gmt_error *error);

/*
 * Returns whether another thread than the caller's may read the source, and the source has at least
 * `bytes` compressed bytes or an unknown number of them.
 */
bool gmt_source_may_use_thread(const struct gmt_source *source, uint64_t bytes);

/*
 * Returns whether the recorder that wrote the file `fd` was killed in its first moment. The file is
 * then empty, or has only a part of the file header. Changes the position of `fd`.
 */
bool gmt_source_is_just_begun(int fd);

/*
 * Returns whether the source ended in the middle of the file's last member. Valid after
 * gmt_source_next has returned GMT_DAMAGED.
 */
bool gmt_source_is_cut(const struct gmt_source *source);

/*
 * How many events came from the recorder's memory, and whether something is missing between file
 * and memory. All zeros if no event came from there.
 */
struct gmt_source_recovered {
	uint64_t events;
	bool has_gap;      /* blocks are missing between file and memory */
	bool was_complete; /* the file has its end record: no events were taken from memory */
};
/*
 * In a note of the recording, after the number of the process: the process was killed, and the end
 * of the recording was made from the recorder's memory.
 */
#define GMT_SOURCE_KILLED_NOTE " did not end normally"

struct gmt_source_recovered gmt_source_recovered(const struct gmt_source *source);

/*
 * Gets the next block, valid until the next call. GMT_END: the file ended at the end of a block.
 * GMT_DAMAGED: the file is cut or damaged from here on, and the error text (without the path)
 * explains how. GMT_NO_FILE: the stream cannot be read. All previous blocks are valid.
 */
enum gmt_status gmt_source_next(struct gmt_source *source, struct gmt_block *ret_block,
	struct gmt_error *error);

/*
 * From now on, skips the members that are marked as left out. Only for a source without a shared
 * recording. `members` describe the same file, stay the caller's, and must outlive the source.
 */
void gmt_source_leave_out(struct gmt_source *source, const struct gmt_members *members);

struct gmt_source_progress gmt_source_progress(const struct gmt_source *source);

/* `source` may be NULL. */
void gmt_source_close(struct gmt_source *source);

#endif

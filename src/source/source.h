/* SPDX-License-Identifier: MIT */
#ifndef GMT_SOURCE_SOURCE_H
#define GMT_SOURCE_SOURCE_H

/*
 * A gzip file to blocks. In the flow: file -> source -> decode. Reads forward once, in memory that
 * follows the largest block. Everything it hands out has a right checksum. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "format/encoding/block.h"
#include "format/file/members.h"

struct gmt_source;

struct gmt_inflater;
struct gmt_shared_recording;

struct gmt_source_progress {
	uint64_t read_bytes; /* of the compressed file */
	uint64_t file_bytes;
};

/*
 * Opens `path` and reads its header. GMT_NO_FILE, GMT_FORMAT or GMT_VERSION say why not; the text
 * names the path.
 */
enum gmt_status gmt_source_open(const char *path, struct gmt_source **ret_source, struct gmt_error *error);

/*
 * Likewise the first `end_bytes` of a file that is open for reading, as if no more were there. `fd` stays the
 * caller's, and so does its position. `path` is for messages. Inflated by zlib: this is what the recorder reads its own
 * file with.
 */
enum gmt_status gmt_source_open_part(int fd, uint64_t end_bytes, const char *path, struct gmt_source **ret_source,
	struct gmt_error *error);

/*
 * Likewise with what the recorder of that file left in memory (shared_recording_file.h), as if the file had it: behind what
 * can be read in the file. `leftover` stays the caller's, and outlives the source. `path` may be NULL: the
 * file is gone.
 */
enum gmt_status gmt_source_open_with(const char *path, struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source,
	struct gmt_error *error);

/*
 * Likewise, inflated in the way that is given (inflate.h), which gives the same blocks; the others take ISA-L where it is
 * there. `leftover` may be NULL.
 */
enum gmt_status gmt_source_open_by(const struct gmt_inflater *inflater, const char *path, struct gmt_shared_recording *shared_recording,
	struct gmt_source **ret_source, struct gmt_error *error);

/*
 * The same from the open file `fd`, wherever its position is, unless `fd` is -1. `fd` stays the caller's; its position
 * moves. `path` is for messages then.
 */
enum gmt_status gmt_source_open_file(const struct gmt_inflater *inflater, int fd, const char *path,
	struct gmt_shared_recording *shared_recording, struct gmt_source **ret_source, struct gmt_error *error);

/* The same, inflated as fast as this machine can. */
enum gmt_status gmt_source_open_descriptor(int fd, const char *path, struct gmt_shared_recording *shared_recording,
	struct gmt_source **ret_source, struct gmt_error *error);

/*
 * Whether the file `fd` has only what a recorder that was killed in its first moment may have written: nothing, or a part of
 * the file header. Its position moves.
 */
bool gmt_source_is_hardly_begun(int fd);

/* Whether the source ended in the middle of the file's last member; once gmt_source_next has said GMT_DAMAGED. */
bool gmt_source_is_cut(const struct gmt_source *source);

/* How many events came from there, and whether there is a gap between file and memory. All zeros when none did. */
struct gmt_source_recovered {
	uint64_t events;
	bool is_gap;
	bool was_whole; /* the file has its end: nothing was taken from memory */
};
struct gmt_source_recovered gmt_source_recovered(const struct gmt_source *source);

/*
 * The next block, good until the next call. GMT_END: the file ended where a block ends. GMT_DAMAGED:
 * from here on it is cut or damaged, the text says how (without the path); all before was good.
 */
enum gmt_status gmt_source_next(struct gmt_source *source, struct gmt_block *ret_block,
	struct gmt_error *error);

/*
 * From now on, members that are to be left out are not read, wherever one begins. Of a source without a leftover;
 * `members` are of the same file, stay the caller's, and outlive the source.
 */
void gmt_source_leave_out(struct gmt_source *source, const struct gmt_members *members);

struct gmt_source_progress gmt_source_progress(const struct gmt_source *source);

/* `source` may be NULL. */
void gmt_source_close(struct gmt_source *source);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FILE_SINK_H
#define GMT_FORMAT_FILE_SINK_H

/*
 * Writes bytes to a gzip file. In the flow: encode -> sink -> file. After gmt_sink_sync, all bytes
 * pushed before can be read back, even from a file that is truncated right there. One thread.
 *
 * A sink that failed once stays failed and ignores further bytes, so the recorder need not check
 * each call. If a disk is full, the sink's owner may wait instead (gmt_sink_on_stall).
 *
 * The sink writes only to its own file. If the program closed the descriptor and the number now
 * means another file, the sink fails. It also fails if its file was removed or truncated, because
 * such a file cannot be read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "format/file/member_description.h"

struct gmt_sink;

/*
 * Starts a gzip file on `fd`. The caller still owns `fd` and closes it. `level` is zlib's level, 1
 * to 9. The sink's memory comes from pages.h. On failure, *ret_sink is NULL.
 */
enum gmt_status gmt_sink_open(int fd, int level, struct gmt_sink **ret_sink,
	struct gmt_error *error);

/*
 * Sets `wait`. The sink calls it if the file accepts no bytes now but may accept them later. Causes
 * are missing space, a quota, or an error of the device or network. The argument is the errno
 * value. The sink keeps the bytes. If `wait` returns true, the sink tries them again. If it returns
 * false, the sink fails. When the file accepts bytes again, the sink calls `wait` with 0 and
 * ignores the result.
 */
void gmt_sink_on_stall(struct gmt_sink *sink, bool (*wait)(void *context, int error_number),
	void *context);

enum gmt_status gmt_sink_push(struct gmt_sink *sink, const void *bytes, size_t length,
	struct gmt_error *error);

/* Makes all pushed bytes readable in the file. */
enum gmt_status gmt_sink_sync(struct gmt_sink *sink, struct gmt_error *error);

/* Returns the number of bytes written to the file so far, after its size at gmt_sink_open. */
uint64_t gmt_sink_written_bytes(const struct gmt_sink *sink);

/* Returns the number of bytes written to the current gzip member. */
uint64_t gmt_sink_member_bytes(const struct gmt_sink *sink);

enum { GMT_SINK_TAIL_BYTES = 10 };

/*
 * Returns the tail that completes a copy of the file. The copy must be made right after
 * gmt_sink_sync. With the tail, its last gzip member is complete. Returns false if the sink has
 * failed.
 */
bool gmt_sink_tail(const struct gmt_sink *sink, uint8_t ret_tail[GMT_SINK_TAIL_BYTES]);

/* Returns the number of uncompressed bytes pushed so far. */
uint64_t gmt_sink_pushed_bytes(const struct gmt_sink *sink);

/*
 * Ends a member of the gzip file. Bytes that are pushed later can be read, and copied, without the
 * earlier ones. The cost is that of a sync. `description` describes the member, so that readers can
 * skip it (member_description.h). If it is NULL, they must read it.
 */
enum gmt_status gmt_sink_end_member(struct gmt_sink *sink,
	const struct gmt_member_description *description, struct gmt_error *error);

/*
 * Continues in another file. Its size is `written_bytes`, and its last bytes must be exactly those
 * that the sink has written since the end of a member. The caller owns `fd`, which may be the same
 * number as before. Call it right after a sync or the end of a member. Returns false, and changes
 * nothing, if `fd` is not open.
 */
bool gmt_sink_move(struct gmt_sink *sink, int fd, uint64_t written_bytes);

/* Ends the gzip stream and frees the sink. `sink` may be NULL. */
enum gmt_status gmt_sink_close(struct gmt_sink *sink, struct gmt_error *error);

/* Frees the sink and writes nothing. `sink` may be NULL. */
void gmt_sink_abandon(struct gmt_sink *sink);

#endif

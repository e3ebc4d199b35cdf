/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FILE_SINK_H
#define GMT_FORMAT_FILE_SINK_H

/*
 * Bytes to a gzip file. In the flow: encode -> sink -> file. After gmt_sink_sync everything pushed
 * before it can be read back, also from a file that is cut right there. One thread.
 *
 * A sink that failed once stays failed and swallows what follows, so that a recorder need not look at each
 * call. Where a disk is full, say, its owner may wait for better times instead (gmt_sink_on_stall). A descriptor
 * that was closed and given to another file counts as failed: nothing is ever written to a file that is not the
 * sink's. Nor to one that was removed, or made shorter by somebody: nobody could read it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "format/file/member.h"

struct gmt_sink;

/*
 * Starts a gzip file on `fd`, which stays the caller's to close. `level` is zlib's, 1 to 9.
 * The sink comes from pages.h; NULL in *ret_sink on failure.
 */
enum gmt_status gmt_sink_open(int fd, int level, struct gmt_sink **ret_sink, struct gmt_error *error);

/*
 * `wait` is called, with errno's number, when the file takes nothing though it may later (no space, no quota, an
 * error of the device or of the network): true to try the same bytes again, which are kept, false to have the
 * sink fail. With 0 it is told that the file takes bytes again; the answer does not matter then.
 */
void gmt_sink_on_stall(struct gmt_sink *sink, bool (*wait)(void *context, int error_number), void *context);

/* Appends bytes. */
enum gmt_status gmt_sink_push(struct gmt_sink *sink, const void *bytes, size_t length,
	struct gmt_error *error);

/* Makes all that was pushed readable in the file. */
enum gmt_status gmt_sink_sync(struct gmt_sink *sink, struct gmt_error *error);

/* Bytes of the file so far, behind what it had when the sink was opened. */
uint64_t gmt_sink_written_bytes(const struct gmt_sink *sink);

/* Likewise of the member of gzip that is being written. */
uint64_t gmt_sink_member_bytes(const struct gmt_sink *sink);

enum { GMT_SINK_TAIL_BYTES = 10 };

/*
 * What, behind a copy of the file as it is right after gmt_sink_sync, makes a whole gzip member of it. False when the
 * sink has failed.
 */
bool gmt_sink_tail(const struct gmt_sink *sink, uint8_t ret_tail[GMT_SINK_TAIL_BYTES]);

/* Uncompressed bytes pushed so far. */
uint64_t gmt_sink_pushed_bytes(const struct gmt_sink *sink);

/*
 * Ends a member of the gzip file, so that what is pushed next can be read, and copied, without what was
 * pushed before. Costs as a sync does. `about` says what it has, for those who need not read it (member.h); NULL: they
 * must.
 */
enum gmt_status gmt_sink_end_member(struct gmt_sink *sink, const struct gmt_member_about *about, struct gmt_error *error);

/*
 * Goes on in another file of `written_bytes`, which ends with the very bytes that the sink has written since
 * a member's end. `fd` is the caller's, and may be the same number. Right behind a sync or a member's end.
 * False, nothing changed, when `fd` is not open.
 */
bool gmt_sink_move(struct gmt_sink *sink, int fd, uint64_t written_bytes);

/* Ends the gzip stream and frees the sink. `sink` may be NULL. */
enum gmt_status gmt_sink_close(struct gmt_sink *sink, struct gmt_error *error);

/* Frees the sink and writes nothing. `sink` may be NULL. */
void gmt_sink_abandon(struct gmt_sink *sink);

#endif

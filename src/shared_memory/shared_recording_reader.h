/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_SHARED_RECORDING_READER_H
#define GMT_SHARED_MEMORY_SHARED_RECORDING_READER_H

/*
 * Reads the memory of a dead recorder from the file that it left. In the flow: shared recording
 * file -> recovery -> source. Anybody may have written the file. So every offset, length and count
 * in it is checked before use, and no allocation is larger than the file's size on disk. The file
 * is read and never mapped, because it may shrink meanwhile. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system/file_identity.h"
#include "base/status.h"
#include "shared_memory/depot_entry.h"
#include "shared_memory/shared_recording_layout.h"

struct gmt_shared_recording;

/*
 * Opens `path`. Returns GMT_NO_FILE, GMT_FORMAT (not a recorder's memory, or incomplete) or
 * GMT_VERSION on failure; the error text names the path. The caller closes it with
 * gmt_shared_recording_close.
 */
enum gmt_status gmt_shared_recording_open(const char *path,
	struct gmt_shared_recording **ret_shared_recording, struct gmt_error *error);

/*
 * Same for the file `name` in the open folder `folder`, which stays the caller's. `path` is for
 * messages and for gmt_shared_recording_path. Links, pipes and devices are refused.
 */
enum gmt_status gmt_shared_recording_open_at(int folder, const char *name, const char *path,
	struct gmt_shared_recording **ret_shared_recording, struct gmt_error *error);

/* `shared_recording` may be NULL. */
void gmt_shared_recording_close(struct gmt_shared_recording *shared_recording);

const char *gmt_shared_recording_path(const struct gmt_shared_recording *shared_recording);

/* The system's data about the file itself, from when it was opened. */
struct gmt_shared_recording_file_info {
	struct gmt_file_identity file;
	uint32_t user;      /* its owner */
	uint64_t names;     /* number of hard links */
};
const struct gmt_shared_recording_file_info *gmt_shared_recording_file_info(
	const struct gmt_shared_recording *shared_recording);

/* Returns the owner. Its strings are NUL-terminated. */
const struct gmt_shared_recording_owner *gmt_shared_recording_owner(
	const struct gmt_shared_recording *shared_recording);

/* Returns whether the process still runs. Its recording must then not be recovered. */
bool gmt_shared_recording_is_alive(const struct gmt_shared_recording *shared_recording);

/* Returns the header as it was when the file was opened; see struct gmt_shared_recording_header. */
const struct gmt_shared_recording_header *gmt_shared_recording_header(
	const struct gmt_shared_recording *shared_recording);

/*
 * Returns the consecutive blocks of the preamble, or NULL and 0 if there are none. Valid until
 * close.
 */
const uint8_t *gmt_shared_recording_preamble(struct gmt_shared_recording *shared_recording,
	size_t *ret_bytes);

/*
 * Returns the committed entries of the journal, or NULL and 0. *ret_base_stamp is the stamp of the
 * sync point that they follow. Valid until close.
 */
const uint8_t *gmt_shared_recording_journal(struct gmt_shared_recording *shared_recording,
	size_t *ret_bytes, uint64_t *ret_base_stamp);

/*
 * Returns the depot's entry with that id, or NULL if there is no entry of that kind. The entry and
 * its bytes are in our own memory; the caller may write to them.
 */
struct gmt_depot_entry *gmt_shared_recording_entry(struct gmt_shared_recording *shared_recording,
	uint32_t id, enum gmt_depot_kind kind);

/* Returns the first id at or after `id` that has an entry, or 0. For going through all entries. */
uint32_t gmt_shared_recording_next_entry(struct gmt_shared_recording *shared_recording, uint32_t id,
	struct gmt_depot_entry **ret_entry);

/*
 * Reads the head of the ring in a slot, without events. Returns false if the slot has no ring or an
 * invalid one.
 */
bool gmt_shared_recording_ring(const struct gmt_shared_recording *shared_recording, uint32_t slot,
	struct gmt_ring *ret_ring);

/*
 * Reads `count` events of that ring, from number `first` on. Returns false if they cannot be read.
 */
bool gmt_shared_recording_events(const struct gmt_shared_recording *shared_recording, uint32_t slot,
	const struct gmt_ring *ring, uint64_t first, uint32_t count, struct gmt_ring_event *ret_events);

/* Returns the size of the file on disk in bytes. The content cannot be larger. */
uint64_t gmt_shared_recording_allocated_bytes(const struct gmt_shared_recording *shared_recording);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_SHARED_RECORDING_FILE_H
#define GMT_SHARED_MEMORY_SHARED_RECORDING_FILE_H

/*
 * The memory of a recorder, read from the file that it left. In the flow: leftover file -> recovery ->
 * source. The file may be anybody's work: every offset, length and count in it is checked before use, and
 * nothing is asked for that its size on the disk does not back. Read, never mapped: it may shrink meanwhile.
 * One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system/file_identity.h"
#include "base/status.h"
#include "shared_memory/depot_entry.h"
#include "shared_memory/shared_recording.h"

struct gmt_shared_recording;

/*
 * Opens `path`. GMT_NO_FILE, GMT_FORMAT (no recorder's memory, or none that was ready) or GMT_VERSION say why not;
 * the text names the path. The caller ends it with gmt_shared_recording_close.
 */
enum gmt_status gmt_shared_recording_open(const char *path, struct gmt_shared_recording **ret_leftover, struct gmt_error *error);

/*
 * The same for the file `name` in the open folder `folder`, which stays the caller's. `path` is for messages and for
 * gmt_shared_recording_path. Links, pipes and devices are refused.
 */
enum gmt_status gmt_shared_recording_open_at(int folder, const char *name, const char *path, struct gmt_shared_recording **ret_leftover,
	struct gmt_error *error);

/* `leftover` may be NULL. */
void gmt_shared_recording_close(struct gmt_shared_recording *shared_recording);

const char *gmt_shared_recording_path(const struct gmt_shared_recording *shared_recording);

/* What the system says of the file itself, as it was when it was opened. */
struct gmt_shared_recording_about {
	struct gmt_file_identity file;
	uint32_t user;      /* who owns it */
	uint64_t names;     /* hard links */
};
const struct gmt_shared_recording_about *gmt_shared_recording_about(const struct gmt_shared_recording *shared_recording);

/* Its strings are ended. */
const struct gmt_shared_recording_owner *gmt_shared_recording_owner(const struct gmt_shared_recording *shared_recording);

/* Whether the process goes on: then it is not to be recovered. */
bool gmt_shared_recording_is_alive(const struct gmt_shared_recording *shared_recording);

/* As it was when the file was opened; see struct gmt_shared_recording_header. */
const struct gmt_shared_recording_header *gmt_shared_recording_header(const struct gmt_shared_recording *shared_recording);

/* Blocks of the beginning, behind each other; NULL and 0 when there are none. Good until the end. */
const uint8_t *gmt_shared_recording_preamble(struct gmt_shared_recording *shared_recording, size_t *ret_bytes);

/* The committed entries of the journal, likewise; *ret_base_stamp is what they follow. */
const uint8_t *gmt_shared_recording_journal(struct gmt_shared_recording *shared_recording, size_t *ret_bytes, uint64_t *ret_base_stamp);

/*
 * The depot's entry of an id: it and its bytes lie in memory of ours, which may be written to. NULL when
 * there is none of that kind.
 */
struct gmt_depot_entry *gmt_shared_recording_entry(struct gmt_shared_recording *shared_recording, uint32_t id, enum gmt_depot_kind kind);

/* The first id whose entry stands at `id` or behind it; 0 when there is none. For going through all. */
uint32_t gmt_shared_recording_next_entry(struct gmt_shared_recording *shared_recording, uint32_t id, struct gmt_depot_entry **ret_entry);

/* The head of the ring in a slot (without events); false when none was made there, or it makes no sense. */
bool gmt_shared_recording_ring(const struct gmt_shared_recording *shared_recording, uint32_t slot, struct gmt_ring *ret_ring);

/* Reads `count` events of that ring from number `first` on; false when they cannot be read. */
bool gmt_shared_recording_events(const struct gmt_shared_recording *shared_recording, uint32_t slot, const struct gmt_ring *ring,
	uint64_t first, uint32_t count, struct gmt_ring_event *ret_events);

/* The bytes that the file has on its disk, which bound what can be in it. */
uint64_t gmt_shared_recording_allocated_bytes(const struct gmt_shared_recording *shared_recording);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_RECORDING_MEMORY_H
#define GMT_PRODUCER_RECORDING_MEMORY_H

/*
 * The memory that rings and depot live in: one shared file mapping, on tmpfs where there is one, so
 * that what was published is still there when the process was killed. Disk space is allocated before
 * it is written to, never by a page fault: a full tmpfs would otherwise kill the host by SIGBUS.
 *
 * The layout is that of shared_memory/shared_recording.h. The file is sparse; only what is in use takes memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system/file_identity.h"
#include "producer/ring.h"
#include "shared_memory/shared_recording.h"

enum {
	GMT_RECORDING_MEMORY_RINGS = GMT_SHARED_RECORDING_RINGS,
	GMT_RECORDING_MEMORY_RING_EVENTS = 16384,
	GMT_RECORDING_MEMORY_KEPT_RINGS = 16,     /* that keep their memory when nobody has them */
};

struct gmt_recording_memory {
	struct gmt_shared_recording_header *header; /* start of the mapping */
	uint64_t size_bytes;
	int fd; /* the writer's */
	struct gmt_file_identity file; /* what `fd` means */
	int folder; /* writer/folder.h */
	_Atomic uint64_t depot_ready_bytes;
	_Atomic uint64_t ring_ready[GMT_RECORDING_MEMORY_RINGS / 64]; /* bit: the slot's disk space is allocated */
	char path[4352];
};

/*
 * Makes the file and maps it, for the recording that `owner` tells of. `fallback_folder` is used where tmpfs
 * has no room, and memory without a file where neither has, which is told as a fault. False with a reason in
 * ret_why. Of what killed recorders left, too much is removed first (writer/remove_dead.h).
 */
bool gmt_recording_memory_open(struct gmt_recording_memory *ret_area, const struct gmt_shared_recording_owner *owner, const char *fallback_folder,
	char *ret_why, uint32_t why_bytes);

/*
 * The same in memory without a file: a SIGKILL loses what is in it. False with a reason in ret_why. Any thread; no descriptor is
 * opened.
 */
bool gmt_recording_memory_open_in_memory(struct gmt_recording_memory *ret_area, char *ret_why, uint32_t why_bytes);

/* For writer/pending_definitions.h. */
void *gmt_recording_memory_journal(const struct gmt_recording_memory *area);

/* Appends blocks to what a file without its beginning would lack; left out where there is no room. */
void gmt_recording_memory_add_to_preamble(struct gmt_recording_memory *area, const void *blocks, size_t bytes);

/* Start of the depot's arena. */
void *gmt_recording_memory_depot(const struct gmt_recording_memory *area);

/* Makes at least `bytes` of the depot's arena writable; false when there is no more of it. */
bool gmt_recording_memory_grow_depot(struct gmt_recording_memory *area, uint64_t bytes);

/* Whether slot `index` has its disk space: only then may it be looked at. */
bool gmt_recording_memory_has_ring(const struct gmt_recording_memory *area, uint32_t index);

/* The ring in slot `index`. */
struct gmt_ring *gmt_recording_memory_ring(const struct gmt_recording_memory *area, uint32_t index);

/* Claims a free slot for the calling thread and gives it disk space; false when none can be had. */
bool gmt_recording_memory_claim_ring(struct gmt_recording_memory *area, uint32_t *ret_index);

/* The thread of a slot has ended. */
void gmt_recording_memory_leave_ring(struct gmt_recording_memory *area, uint32_t index);

/* Whether a ring lies there that its thread has left: the writer makes it free. Any thread. */
bool gmt_recording_memory_has_left_ring(const struct gmt_recording_memory *area);

/*
 * Writer only. Whether slot `index` was left and its thread is gone: what is in the ring now is all. Until then
 * destructors of the thread's data may still bring events.
 */
bool gmt_recording_memory_may_free_ring(const struct gmt_recording_memory *area, uint32_t index);

/* Writer only, of such a slot once it is empty: another thread may have it. Gives memory back. */
void gmt_recording_memory_free_ring(struct gmt_recording_memory *area, uint32_t index);

/*
 * Writer only. Leaves the rings of threads that ended without a word, by the system call alone. A number that
 * another thread has got by now is as good as alive.
 */
void gmt_recording_memory_leave_dead(struct gmt_recording_memory *area);

/* Unlinks the file, which stays the area's memory. False when it has no name any more. */
bool gmt_recording_memory_leave_name(struct gmt_recording_memory *area);

/* Unlinks the file: the recording is whole without it. The mapping stays: threads may still be about to write to it. */
void gmt_recording_memory_unlink(struct gmt_recording_memory *area);

/*
 * A forked child lets go of its parent's area. With `is_in_use`, its addresses stay valid, with private memory behind them that
 * is the caller's to unmap: a signal handler has forked while it interrupted code that goes on there.
 */
void gmt_recording_memory_abandon(struct gmt_recording_memory *area, bool is_in_use);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_RECORDING_MEMORY_H
#define GMT_PRODUCER_RECORDING_MEMORY_H

/*
 * The memory of the rings and the depot: one shared file mapping, on tmpfs if possible. The file
 * outlives a killed process, so a reader finds all published data. The recorder allocates disk
 * space before it writes. Otherwise a page fault on a full tmpfs would kill the host by SIGBUS.
 *
 * shared_memory/shared_recording_layout.h defines the layout. The file is sparse: only used parts
 * take memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system/file_identity.h"
#include "producer/ring.h"
#include "shared_memory/shared_recording_layout.h"

enum {
	GMT_RECORDING_MEMORY_RINGS = GMT_SHARED_RECORDING_RINGS,
	GMT_RECORDING_MEMORY_RING_EVENTS = 16384,
	GMT_RECORDING_MEMORY_KEPT_RINGS = 16,     /* free rings that keep their memory */
};

struct gmt_recording_memory {
	struct gmt_shared_recording_header *header; /* start of the mapping */
	uint64_t size_bytes;
	int fd; /* a descriptor of the writer's thread */
	struct gmt_file_identity file; /* identity of the file behind `fd` */
	int folder; /* descriptor of the file's folder (files/folder.h) */
	_Atomic uint64_t depot_ready_bytes;
	/* one bit per slot: the slot's disk space is allocated */
	_Atomic uint64_t ring_ready[GMT_RECORDING_MEMORY_RINGS / 64];
	char path[4352];
};

/*
 * Creates the file and maps it for the recording of `owner`. First removes recordings of killed
 * recorders if they take too much space (files/remove_dead_recordings.h). Uses `fallback_folder` if
 * tmpfs has no room. If neither folder has room, uses memory without a file and reports a fault.
 * Returns false with a reason in ret_why. The caller fills the preamble and then signs the memory.
 */
bool gmt_recording_memory_open(struct gmt_recording_memory *ret_memory,
	const struct gmt_shared_recording_owner *owner, const char *fallback_folder, char *ret_why,
	uint32_t why_bytes);

/*
 * Same as above, in memory without a file: a SIGKILL loses its content. Returns false with a reason
 * in ret_why. Any thread. Opens no descriptor.
 */
bool gmt_recording_memory_open_in_memory(struct gmt_recording_memory *ret_memory, char *ret_why,
	uint32_t why_bytes);

/*
 * Writes the owner and then the magic. If the process is killed after this call, a reader accepts
 * the memory.
 */
void gmt_recording_memory_sign(struct gmt_recording_memory *memory,
	const struct gmt_shared_recording_owner *owner);

/* Returns the memory of the journal (writer/journal.h). */
void *gmt_recording_memory_journal(const struct gmt_recording_memory *memory);

/*
 * Appends blocks that a reader needs when the file's beginning is missing. Leaves the blocks out if
 * there is no room.
 */
void gmt_recording_memory_add_to_preamble(struct gmt_recording_memory *memory, const void *blocks,
	size_t bytes);

/* Returns the start of the depot's arena. */
void *gmt_recording_memory_depot(const struct gmt_recording_memory *memory);

/*
 * Makes at least `bytes` of the depot's arena writable. Returns false if the arena cannot grow that
 * far.
 */
bool gmt_recording_memory_grow_depot(struct gmt_recording_memory *memory, uint64_t bytes);

/* Returns whether slot `index` has its disk space. Do not read the slot's memory otherwise. */
bool gmt_recording_memory_has_ring(const struct gmt_recording_memory *memory, uint32_t index);

/* Returns the ring in slot `index`. */
struct gmt_ring *gmt_recording_memory_ring(const struct gmt_recording_memory *memory,
	uint32_t index);

/*
 * Claims a free slot for the calling thread and gives it disk space. Returns false if no slot is
 * available.
 */
bool gmt_recording_memory_claim_ring(struct gmt_recording_memory *memory, uint32_t *ret_index);

/* Marks the slot as left by its thread. Called by the thread at its end. */
void gmt_recording_memory_leave_ring(struct gmt_recording_memory *memory, uint32_t index);

/* Returns whether any ring was left by its thread. The writer frees such a ring. Any thread. */
bool gmt_recording_memory_has_left_ring(const struct gmt_recording_memory *memory);

/*
 * Writer only. Returns whether the thread of slot `index` left its ring and no longer exists. Then
 * the ring gets no more events. Before that, destructors of the thread's data may still add events.
 */
bool gmt_recording_memory_may_free_ring(const struct gmt_recording_memory *memory, uint32_t index);

/*
 * Writer only. Frees such a slot after it is empty, so that another thread can claim it. Gives
 * memory back to the system.
 */
void gmt_recording_memory_free_ring(struct gmt_recording_memory *memory, uint32_t index);

/*
 * Writer only. Marks the rings of threads that ended by the bare system call as left. If another
 * thread now has the same thread id, the ring stays.
 */
void gmt_recording_memory_leave_dead_rings(struct gmt_recording_memory *memory);

/* Unlinks the file but keeps its memory mapped. Returns false if the file has no name any more. */
bool gmt_recording_memory_remove_name(struct gmt_recording_memory *memory);

/*
 * Unlinks the file: the recording is complete without it. Keeps the mapping, because threads may
 * still write to it.
 */
void gmt_recording_memory_unlink(struct gmt_recording_memory *memory);

/*
 * Releases the parent's recording memory in a forked child. With `is_in_use`, the addresses stay
 * valid: private memory replaces the mapping, and the caller must unmap it later. Necessary if a
 * signal handler forked, because the interrupted code continues to use the addresses.
 */
void gmt_recording_memory_abandon(struct gmt_recording_memory *memory, bool is_in_use);

#endif

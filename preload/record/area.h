/* SPDX-License-Identifier: MIT */
#ifndef GMT_RECORD_AREA_H
#define GMT_RECORD_AREA_H

/*
 * The memory that rings and depot live in: one shared file mapping, on tmpfs where there is one, so
 * that what was published is still there when the process was killed. Disk space is allocated before
 * it is written to, never by a page fault: a full tmpfs would otherwise kill the host by SIGBUS.
 *
 * Layout: header, depot arena, ring slots. The file is sparse; only what is in use takes memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/file_identity.h"
#include "record/ring.h"

enum {
	GMT_AREA_RINGS = 1024,        /* threads at one time; fewer where address space is tight */
	GMT_AREA_RING_EVENTS = 16384,
	GMT_AREA_KEPT_RINGS = 16,     /* that keep their memory when nobody has them */
	GMT_AREA_VERSION = 1,
};

/* Who has a ring slot. OWNED by its thread until it ends; LEFT until it is gone and the writer has emptied it. */
enum gmt_slot_state { GMT_SLOT_FREE, GMT_SLOT_OWNED, GMT_SLOT_LEFT };

struct gmt_area_header {
	char magic[8]; /* "GMTAREA\n" */
	uint32_t version;
	uint32_t pid;
	uint64_t depot_offset;
	uint64_t depot_bytes;
	uint64_t rings_offset;
	uint64_t ring_stride;
	uint32_t slots; /* at most GMT_AREA_RINGS */
	uint32_t reserved;
	_Atomic uint32_t slots_used; /* slots below this were claimed at least once */
	_Atomic uint32_t slot_states[GMT_AREA_RINGS]; /* enum gmt_slot_state */
};

struct gmt_area {
	struct gmt_area_header *header; /* start of the mapping */
	uint64_t size_bytes;
	int fd;
	struct gmt_file_identity file; /* what `fd` means */
	_Atomic uint64_t depot_ready_bytes;
	_Atomic uint64_t ring_ready[GMT_AREA_RINGS / 64]; /* bit: the slot's disk space is allocated */
	char path[4352];
};

/*
 * Makes the file and maps it. `fallback_folder` is used where tmpfs has no room. False with a reason
 * in ret_why. Files of recorders that are gone are removed from the folder first.
 */
bool gmt_area_open(struct gmt_area *ret_area, const char *fallback_folder, char *ret_why, uint32_t why_bytes);

/* Start of the depot's arena. */
void *gmt_area_depot(const struct gmt_area *area);

/* Makes at least `bytes` of the depot's arena writable; false when the disk is full. */
bool gmt_area_grow_depot(struct gmt_area *area, uint64_t bytes);

/* Whether slot `index` has its disk space: only then may it be looked at. */
bool gmt_area_has_ring(const struct gmt_area *area, uint32_t index);

/* The ring in slot `index`. */
struct gmt_ring *gmt_area_ring(const struct gmt_area *area, uint32_t index);

/* Claims a free slot for the calling thread and gives it disk space; false when none can be had. */
bool gmt_area_claim_ring(struct gmt_area *area, uint32_t *ret_index);

/* The thread of a slot has ended. */
void gmt_area_leave_ring(struct gmt_area *area, uint32_t index);

/*
 * Writer only. Whether slot `index` was left and its thread is gone: what is in the ring now is all. Until then
 * destructors of the thread's data may still bring events.
 */
bool gmt_area_may_free_ring(const struct gmt_area *area, uint32_t index);

/* Writer only, of such a slot once it is empty: another thread may have it. Gives memory back. */
void gmt_area_free_ring(struct gmt_area *area, uint32_t index);

/*
 * Writer only. Leaves the rings of threads that ended without a word, by the system call alone. A number that
 * another thread has got by now is as good as alive.
 */
void gmt_area_leave_dead(struct gmt_area *area);

/* Unlinks the file. The mapping stays: threads may still be about to write to it. */
void gmt_area_unlink(struct gmt_area *area);

/* A forked child lets go of its parent's area. */
void gmt_area_abandon(struct gmt_area *area);

#endif

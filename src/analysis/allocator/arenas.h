/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ARENAS_H
#define GMT_ANALYSIS_ALLOCATOR_ARENAS_H

/*
 * Arenas of libraries other than PyTorch. A library gets memory from the driver in pieces, and
 * hands out blocks that the recorder does not see. The stack of a piece says who owns it
 * (owners.rules). A pure function of a replay.
 *
 * Some stacks make an arena only likely. Such an arena counts only if its owner kept its pieces: at
 * the peak of its account, or at the end, at least half of all pieces were live. An arena gives
 * back almost nothing, but an allocator of single blocks gives back most of them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

/* The arenas of one owner on one GPU, or on the host. */
struct gmt_arena_row {
	uint32_t owner; /* id in the traces' owners */
	const char *name; /* name of the owner */
	int32_t device;   /* GMT_DEVICE_HOST: pinned host memory */
	uint64_t live_bytes, live_blocks; /* at the end of the replay */
	uint64_t peak_bytes, peak_blocks; /* at the peak of the device's account */
	uint64_t alloc_count;
	bool is_certain; /* the stack of a piece contains a function of the arena */
	bool is_seen;    /* a custom heap of that name reports the blocks of the arena */
	const char *setting; /* setting that makes its blocks visible; NULL: no setting is known */
};

struct gmt_arenas {
	GMT_VEC(struct gmt_arena_row) rows; /* largest first */
	GMT_VEC(uint32_t) row_of; /* by site of the accounting: index in rows + 1; 0: no row */
};

/*
 * Finds the arenas. Fails only if memory is exhausted. `ret_arenas` (zeroed) belongs to the caller;
 * end it with gmt_arenas_fini.
 */
enum gmt_status gmt_arenas_compute(struct gmt_arenas *ret_arenas, const struct gmt_traces *traces,
	const struct gmt_replay *replay, struct gmt_error *error);

void gmt_arenas_fini(struct gmt_arenas *arenas);

/*
 * Returns the largest arena of a device whose blocks are not reported, or NULL. GMT_DEVICE_HOST
 * means the host.
 */
const struct gmt_arena_row *gmt_arenas_unseen(const struct gmt_arenas *arenas, int32_t device);

/* Returns the largest such arena of all GPUs, or NULL. */
const struct gmt_arena_row *gmt_arenas_unseen_on_gpus(const struct gmt_arenas *arenas);

/*
 * Returns the setting that makes the blocks of this owner's arena visible, or NULL if no setting is
 * known.
 */
const char *gmt_arenas_setting(const char *owner);

/*
 * Returns whether the owner is an array framework with an arena. Its arrays end with the program,
 * as PyTorch's tensors do.
 */
bool gmt_arenas_is_framework(const char *owner);

struct gmt_arena_text {
	char text[160];
};

/* Returns, for example, "blocks inside XLA's arena are not seen, leaks in it cannot be found". */
struct gmt_arena_text gmt_arenas_warning(const struct gmt_arena_row *row);

#endif

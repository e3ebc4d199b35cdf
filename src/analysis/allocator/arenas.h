/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ARENAS_H
#define GMT_ANALYSIS_ALLOCATOR_ARENAS_H

/*
 * Arenas of libraries other than PyTorch: memory that a library got from the driver in pieces, and hands out in blocks
 * that nobody sees. Whose a piece is, its stack says (owners.rules). A pure function of a replay.
 *
 * A stack that makes an arena only likely counts if its owner kept what it got: at the peak of its account, or at the
 * end, at least half of all pieces lived. An arena gives hardly anything back, and an allocator of single blocks most.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

/* What one owner has in one place: a GPU, or the host. */
struct gmt_arena_row {
	uint32_t owner; /* id in the traces' owners */
	const char *name; /* of the owner */
	int32_t device;   /* GMT_DEVICE_HOST: pinned host memory */
	uint64_t live_bytes, live_blocks; /* when the replay was over */
	uint64_t peak_bytes, peak_blocks; /* when the account of that device peaked */
	uint64_t alloc_count;
	bool is_certain; /* a function of the arena is in the stack of a piece */
	bool is_seen;    /* a heap of that name reports its blocks */
	const char *setting; /* with which its blocks are seen; NULL when none is known */
};

struct gmt_arenas {
	GMT_VEC(struct gmt_arena_row) rows; /* the largest first */
	GMT_VEC(uint32_t) row_of; /* by site of the books: index in rows + 1; 0: none */
};

/* Fails only for lack of memory. `ret_arenas` (zeroed) is the caller's; end it with gmt_arenas_fini. */
enum gmt_status gmt_arenas_init(struct gmt_arenas *ret_arenas, const struct gmt_traces *traces,
	const struct gmt_replay *replay, struct gmt_error *error);

void gmt_arenas_fini(struct gmt_arenas *arenas);

/* The largest arena of a device whose blocks nobody reports; NULL when there is none. GMT_DEVICE_HOST: of the host. */
const struct gmt_arena_row *gmt_arenas_unseen(const struct gmt_arenas *arenas, int32_t device);

/* What to set so that blocks of this owner's arena are seen; NULL when nothing is known. */
const char *gmt_arenas_setting(const char *owner);

/*
 * Whether this is a framework of arrays that has an arena: what its arrays hold ends with the program, as PyTorch's
 * tensors do.
 */
bool gmt_arenas_is_framework(const char *owner);

struct gmt_arena_text {
	char text[160];
};

/* "blocks inside XLA's arena are not seen, leaks in it cannot be found" */
struct gmt_arena_text gmt_arenas_doubt(const struct gmt_arena_row *row);

#endif

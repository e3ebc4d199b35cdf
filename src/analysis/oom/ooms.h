/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OOM_OOMS_H
#define GMT_ANALYSIS_OOM_OOMS_H

/*
 * The requests that were refused for lack of memory: what was asked for, what there was, who held it. A
 * pure function of a snapshot and a replay of it.
 *
 * What the program met is one row. PyTorch asks the driver up to three times, giving up more of its cache
 * each time: when that helps, its refusals are one row, a retry; when not, they belong to the row of
 * PyTorch's own refusal. Programs that try again themselves are not seen through: their refusals reached
 * them. The rules:
 *
 *   A refusal by the driver is a retry when the next thing that its thread gets on that device is an
 *   allocation of the same size and, in it, a block of PyTorch's.
 *   It belongs to PyTorch's refusal when that is the next thing that its thread meets on that device, and
 *   asks for no more; of several in a row, the last three do.
 *
 *	gmt_ooms_init(&ooms, snapshot, until_ns, error)   (finds the rows)
 *	observer = gmt_ooms_observer(&ooms)               (for a replay until the same moment: fills them)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/allocator/allocator_memory.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/load/snapshot.h"
#include "reader/load/spans.h"

enum {
	GMT_OOMS_KEPT = 32, /* rows of failures, and of retries: the last ones, and of failures the first */
	GMT_OOMS_HOLDERS = 10,
};

/* What a site held at that moment. */
struct gmt_oom_holder {
	uint32_t site; /* id in the replay */
	uint64_t bytes, blocks;
};

struct gmt_oom_row {
	size_t event; /* number, in order of time; of a retry the first refusal */
	uint64_t stamp, time_ns;
	uint32_t layer;
	int32_t device;  /* GMT_DEVICE_HOST: host memory; GMT_DEVICE_UNKNOWN */
	uint64_t requested_bytes;
	bool recovered;  /* a retry */
	uint32_t driver_refusals; /* that this row stands for */

	bool has_driver; /* the driver said: */
	uint64_t free_bytes, total_bytes;

	/* The rest is filled by the observer. */
	uint64_t live_bytes;   /* of the row's layer, there */
	uint64_t cuda_bytes;   /* that this process had from the driver, there, as far as it is recorded */
	bool has_cache;        /* PyTorch told of itself on that device: */
	uint64_t reserved_bytes, cached_bytes;
	bool has_hole;         /* its segments could be told, and are not too many: */
	uint64_t hole_bytes;   /* the largest gap in a segment that holds a block and that the request could use */
	bool knows_usable;     /* all segments are known, or the request is none of PyTorch's: */
	uint64_t usable_bytes; /* of cached_bytes, what the request could use: all but other pools and empty segments */
	uint64_t graph_bytes;  /* of cached_bytes, in private pools of CUDA graphs */
	uint32_t site, stack;  /* of the request; stack: id in traces->stacks */
	uint32_t holders_layer; /* PyTorch's, where it has blocks there */
	uint64_t held_bytes;   /* by all sites of that layer, there */
	uint32_t holder_count; /* of the largest; the others hold the rest */
	struct gmt_oom_holder holders[GMT_OOMS_HOLDERS];
};

struct gmt_ooms {
	const struct gmt_snapshot *snapshot;
	GMT_VEC(struct gmt_oom_row) rows; /* in order of time */
	uint64_t failures; /* that reached the program */
	uint64_t retries;
	uint64_t left_out; /* of both, without a row */
	uint64_t folded_failures, folded_retries; /* of both, those in the time that was folded: they have no rows */
	size_t next; /* row that the observer waits for */
	struct gmt_allocator_memory memory; /* by then */
	struct gmt_spans captures; /* into CUDA graphs: what they take from the driver is in private pools */
};

/*
 * Fails only for lack of memory. `ret_ooms` (zeroed) is the caller's, borrows the snapshot, and must not
 * move while it is observed; end it with gmt_ooms_fini.
 */
enum gmt_status gmt_ooms_init(struct gmt_ooms *ret_ooms, const struct gmt_snapshot *snapshot,
	uint64_t until_ns, struct gmt_error *error);

struct gmt_replay_observer gmt_ooms_observer(struct gmt_ooms *ooms);

/* How much of what PyTorch had cached the request could use, as far as is known. */
uint64_t gmt_oom_usable_bytes(const struct gmt_oom_row *row);

/* Whether it would have fitted into what was free and usable together. False: no, or that is not known. */
bool gmt_oom_would_fit(const struct gmt_oom_row *row);

/* Whether an event is a refusal for lack of memory, not for a request that makes no sense. */
bool gmt_oom_is_one(const struct gmt_snapshot_event *event);

void gmt_ooms_fini(struct gmt_ooms *ooms);

#endif

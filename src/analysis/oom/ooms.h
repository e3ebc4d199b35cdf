/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_OOM_OOMS_H
#define GMT_ANALYSIS_OOM_OOMS_H

/*
 * The requests that were refused for lack of memory. For each: the requested size, the memory at
 * that moment, and the sites that held it. A pure function of a recording and a replay of it.
 *
 * A row is a failure that the program saw, or a retry. PyTorch asks the driver up to three times,
 * and frees more of its cache before each new try. If a later try succeeds, the driver's refusals
 * are one row, a retry. If not, they belong to the row of PyTorch's own refusal. If the program
 * itself tries again, each refusal reached the program and has its own row. The rules:
 *
 *   - A refusal by the driver is a retry if the thread's next allocation on that device has
 *     the same size and holds a PyTorch block.
 *   - It belongs to PyTorch's refusal if that is the thread's next event on that device and
 *     asks for no more memory. If several refusals precede it, the last three belong to it.
 *
 *   gmt_ooms_init(&ooms, recording, until_ns, error)   finds the rows
 *   observer = gmt_ooms_observer(&ooms)               fills them in a replay until the same moment
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/allocator/allocator_memory.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "reader/load/mark_spans.h"

enum {
	GMT_OOMS_KEPT =
		32, /* rows for the last failures and retries; the first failure has a row too */
	GMT_OOMS_HOLDERS = 10,
};

/* Memory that a site held at that moment. */
struct gmt_oom_holder {
	uint32_t site; /* id in the replay */
	uint64_t bytes, blocks;
};

struct gmt_oom_row {
	size_t event; /* number, in order of time; for a retry: its first refusal */
	uint64_t stamp, time_ns;
	uint32_t layer;
	int32_t device;  /* GMT_DEVICE_HOST: host memory; GMT_DEVICE_UNKNOWN */
	uint64_t requested_bytes;
	bool recovered;  /* a retry: PyTorch got the memory at a later try */
	uint32_t driver_refusals; /* number of the driver's refusals in this row */

	bool has_driver; /* the driver reported free_bytes and total_bytes */
	bool has_free;   /* free_bytes is known */
	uint64_t free_bytes, total_bytes;

	/* The observer fills the fields below. */
	uint64_t live_bytes;   /* live memory of the row's layer on the device */
	uint64_t cuda_bytes;   /* recorded driver memory of this process on the device */
	bool has_cache; /* PyTorch reported its totals on that device: the two fields below are valid */
	uint64_t reserved_bytes, cached_bytes;
	bool has_hole; /* PyTorch's segments are known and not too many: hole_bytes is valid */
	/* largest gap in a segment that holds a block and that the request could use */
	uint64_t hole_bytes;
	/* all segments are known, or the request is not from PyTorch: the two fields below are valid */
	bool knows_usable;
	/* part of cached_bytes that the request could use: not in other pools or empty segments */
	uint64_t usable_bytes;
	uint64_t graph_bytes; /* part of cached_bytes in private pools of CUDA graphs */
	uint32_t site, stack; /* of the request; stack: id in traces->stacks */
	/* PyTorch's layer if it has blocks on the device, else the row's layer */
	uint32_t holders_layer;
	uint64_t held_bytes; /* by all sites of holders_layer on the device */
	uint32_t holder_count; /* number of the largest holders; the other sites hold the rest */
	struct gmt_oom_holder holders[GMT_OOMS_HOLDERS];
};

struct gmt_ooms {
	const struct gmt_recording *recording;
	GMT_VEC(struct gmt_oom_row) rows; /* in order of time */
	uint64_t failures; /* refusals that reached the program */
	uint64_t retries;
	uint64_t left_out; /* failures and retries without a row */
	/* failures and retries in the compacted prefix; they have no rows */
	uint64_t compacted_failures, compacted_retries;
	size_t next; /* next row that the observer fills */
	struct gmt_allocator_memory memory; /* driver memory at the current moment */
	/* captures of CUDA graphs, which take driver memory for private pools */
	struct gmt_mark_spans captures;
};

/*
 * Finds the rows. Fails only if memory is exhausted. `ret_ooms` (zeroed) belongs to the caller,
 * borrows the recording, and must not move while it observes a replay. End it with gmt_ooms_fini.
 */
enum gmt_status gmt_ooms_init(struct gmt_ooms *ret_ooms, const struct gmt_recording *recording,
	uint64_t until_ns, struct gmt_error *error);

struct gmt_replay_observer gmt_ooms_observer(struct gmt_ooms *ooms);

/*
 * Returns how much of PyTorch's cache the request could use; the whole cache if that is not known.
 */
uint64_t gmt_oom_usable_bytes(const struct gmt_oom_row *row);

/*
 * Returns whether the request would fit into the sum of free and usable memory. Returns false if
 * that is not known.
 */
bool gmt_oom_would_fit(const struct gmt_oom_row *row);

/*
 * Returns whether an event is a refusal for lack of memory, as opposed to the refusal of an invalid
 * request.
 */
bool gmt_oom_is_refusal(const struct gmt_recording_event *event);

void gmt_ooms_fini(struct gmt_ooms *ooms);

#endif

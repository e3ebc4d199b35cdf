/* SPDX-License-Identifier: MIT */
#ifndef GMT_MODEL_REPLAY_H
#define GMT_MODEL_REPLAY_H

/*
 * Plays the events of a snapshot into books. In the flow: snapshot + traces -> replay -> analysis.
 * A site is one merged stack in one layer, device and space.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "books/books.h"
#include "model/snapshot.h"
#include "model/traces.h"

#define GMT_REPLAY_TO_END UINT64_MAX

/* A request that was refused. */
struct gmt_replay_refusal {
	size_t event; /* in order of time */
	uint32_t site;
};

/* Who made a site's blocks. */
struct gmt_replay_maker {
	uint32_t thread; /* id of the first that did; 0: none yet */
	bool several;    /* others of other names did too */
};

struct gmt_replay {
	struct gmt_books books;
	GMT_VEC(uint32_t) site_stacks; /* by site: id in traces->stacks */
	GMT_VEC(struct gmt_replay_maker) site_makers; /* by site */
	GMT_VEC(struct gmt_replay_refusal) refusals;
	uint64_t events;     /* replayed */
	uint64_t end_time_ns; /* of the last moment that the books speak of */
};

/*
 * Replays all events up to and including `until_ns` (from the start of the recording). Fails only
 * for lack of memory. `ret_replay` (zeroed) is the caller's; end it with gmt_replay_fini.
 */
enum gmt_status gmt_replay_init(struct gmt_replay *ret_replay, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, uint64_t until_ns, struct gmt_error *error);

void gmt_replay_fini(struct gmt_replay *replay);

#endif

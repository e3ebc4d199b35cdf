/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_FOLLOW_FOLLOW_H
#define GMT_READER_FOLLOW_FOLLOW_H

/*
 * Follows a recording while its recorder writes it: reads what the file has, and later what was
 * added. In the flow: source -> load -> follow -> analysis/live. Unlike a loaded recording, it
 * keeps no events. They are interpreted and forgotten, so the memory in use depends on stacks,
 * sites and live blocks.
 *
 * The events of several threads may reach the file out of order. So events wait until the recorder
 * has noted that everything before a certain moment is in the file (record `sync`), and for another
 * GMT_FOLLOW_WAIT_NS. An event that is even later makes the numbers wrong; then `is_late` is set,
 * and the owner may follow the file again from its beginning, with `is_disordered`.
 *
 * After the end of the program's work, the numbers stay those of that moment (record `mark`,
 * teardown). The interpreter then releases memory, which shows nothing about the program.
 *
 * A recording that no process writes can be followed too. It is then read to its end, and all its
 * events are put in order before the first is interpreted.
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "accounting/interpret.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/follow/follow_curve.h"
#include "reader/follow/follow_marks.h"
#include "reader/load/load_rows.h"

#define GMT_FOLLOW_WAIT_NS UINT64_C(500000000)

enum { GMT_FOLLOW_SECONDS = 10 }; /* growth and rates are of this many seconds */

/* A number for each of the last seconds. */
struct gmt_follow_seconds {
	int64_t changes[GMT_FOLLOW_SECONDS];
	uint32_t second; /* the last second, from the start of the recording */
};

struct gmt_follow_site {
	uint32_t trace; /* of its first event: index in recording->traces */
	struct gmt_follow_seconds growth; /* of live bytes */
};

struct gmt_follow {
	/* Definitions, and the counts of gmt_recording_complete. It has no events and no marks. */
	struct gmt_recording *recording;
	struct gmt_accounting accounting;
	struct gmt_interpret_heap_groups heap_groups; /* by the accounting's heap number */
	GMT_VEC(struct gmt_follow_site) sites;        /* by the accounting's site number */
	GMT_VEC(struct gmt_follow_curve) curves;      /* by the accounting's account number */
	GMT_VEC(struct gmt_sample) samples;           /* the last sample of each device */
	struct gmt_follow_marks marks;
	struct gmt_follow_seconds event_counts;
	uint64_t refusals;   /* requests that were refused so far, compacted ones too */
	uint64_t last_stamp; /* of the events that are in the accounting */
	/* the latest moment that the file covers, in nanoseconds from the start of the recording */
	uint64_t covered_ns;
	uint64_t read_bytes, file_bytes;
	bool has_ended;   /* everything was read, and nothing can follow */
	bool is_late;     /* an event came too late to be counted in order */
	bool is_replaced; /* another file has the name now: compaction made it, or a new run */

	/* Private. */
	struct gmt_load_rows loader;
	struct gmt_source *source;
	struct gmt_read_ahead *read_ahead;
	struct gmt_event_interpreter interpreter;
	struct gmt_map sample_ids; /* from a device to its index in `samples` */
	struct gmt_map heap_names; /* from the number of a heap to its index in `heaps` */
	GMT_VEC(struct gmt_follow_heap_name) heaps;
	uint64_t compacted_mismatches;
	uint64_t next_second_stamp; /* from this stamp on, `second` is over */
	uint32_t second;            /* of the event that is interpreted */
	uint64_t sync_stamp;        /* of the last sync record */
	bool waits_for_end;         /* until the first GMT_END, events are only collected */
	int fd;                     /* -1: the file does not grow */
};

/* How the file will change. */
enum gmt_follow_mode {
	GMT_FOLLOW_ENDED,   /* not any more */
	GMT_FOLLOW_GROWING, /* its recorder still writes it */
	/* the same, and an event came too late before: what it has at first is ordered as a whole */
	GMT_FOLLOW_DISORDERED,
};

/*
 * Begins to follow the recording at `path`. For a file that has ended, `shared_recording` is the
 * memory that its killed recorder left, or NULL. It must outlive the result. This function reads
 * only the header. It fails like gmt_source_open. GMT_FORMAT may only mean that the recorder has
 * not yet written its header. The caller frees *ret_follow with gmt_follow_close.
 */
enum gmt_status gmt_follow_open(const char *path, enum gmt_follow_mode mode,
	struct gmt_shared_recording *shared_recording, struct gmt_follow **ret_follow,
	struct gmt_error *error);

/*
 * Reads at most about `max_bytes` more of the file. Returns GMT_OK if the file may have more,
 * GMT_END if it has no more now, and else an error: GMT_DAMAGED if what follows cannot be read.
 */
enum gmt_status gmt_follow_read(struct gmt_follow *follow, uint64_t max_bytes,
	struct gmt_error *error);

/* Returns the sum of the changes in the last GMT_FOLLOW_SECONDS seconds up to `second`. */
int64_t gmt_follow_seconds_sum(const struct gmt_follow_seconds *seconds, uint32_t second);

/*
 * Returns the present time of the recording, in nanoseconds since its start: for a recording that
 * grows, of the clock of this machine; otherwise, of its end.
 */
uint64_t gmt_follow_now_ns(const struct gmt_follow *follow);

/* Frees `follow`, which may be NULL. */
void gmt_follow_close(struct gmt_follow *follow);

#endif

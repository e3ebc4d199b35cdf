/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_TABLES_RECORDING_H
#define GMT_LIBRARY_TABLES_RECORDING_H

/*
 * An open recording, with what was computed about it so far. Streams and the program's handle
 * share it; the last of them frees it.
 *
 * Locks: `lock` protects everything in the recording. Loading and analyses also hold a lock of the
 * whole process, because they use state of the process (work budget, messages).
 */

#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "containers/vec.h"
#include "library/tables/block_list.h"
#include "library/tables/tables.h"
#include "tools/pipeline/pipeline.h"

struct gpumemtrace_recording {
	atomic_size_t users; /* the handle, and each stream */
	pthread_mutex_t lock;
	struct gmt_pipeline pipeline;
	struct gmt_block_list blocks; /* from GMT_WORK_REPLAY on */
	enum gmt_read_work done;      /* the work that is done */
	struct gmt_error failure;     /* of the work; GMT_OK: it did not fail */
	struct gmt_budget budget; /* what its analyses may still spend */
	GMT_VEC(char *) warnings; /* from malloc */
};

/* Held while state of the process is used: work budget, memory limit, messages, symbol cache. */
extern pthread_mutex_t gmt_read_process_lock;

/*
 * Returns a recording with one user, for a recording that the caller loads into its pipeline. NULL:
 * out of memory.
 */
struct gpumemtrace_recording *gmt_read_recording_new(void);

/* Adds a user. Any thread that is a user may call it. */
void gmt_read_recording_ref(struct gpumemtrace_recording *recording);

/* Removes a user. Frees the recording after the last one. */
void gmt_read_recording_unref(struct gpumemtrace_recording *recording);

/*
 * Does the work, unless it is done. The caller holds recording->lock. After a failure, each later
 * call fails in the same way.
 */
enum gmt_status gmt_read_recording_prepare(struct gpumemtrace_recording *recording,
	enum gmt_read_work work, struct gmt_error *error);

/*
 * Returns whether the recording has its end, lacks no event, and no analysis so far left anything
 * out. The caller holds recording->lock.
 */
bool gmt_read_recording_is_complete(struct gpumemtrace_recording *recording);

/* Returns the nanoseconds from the beginning of the recording to a stamp. */
int64_t gmt_read_recording_time_ns(const struct gpumemtrace_recording *recording, uint64_t stamp);

/* Returns the enum gpumemtrace_read_status of a failure. */
int gmt_read_recording_status(enum gmt_status status);

#endif

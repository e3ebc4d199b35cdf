/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_TABLES_RECORDING_H
#define GMT_LIBRARY_TABLES_RECORDING_H

/*
 * An open recording, with the results of its analyses so far. The caller's handle and its streams
 * share it by a reference count.
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
	atomic_size_t users; /* references: the handle, and each stream */
	pthread_mutex_t lock;
	struct gmt_pipeline pipeline;
	struct gmt_block_list blocks; /* from GMT_WORK_REPLAY on */
	enum gmt_read_work done;      /* the analyses that were run */
	struct gmt_error failure;     /* of the work; GMT_OK: it did not fail */
	struct gmt_budget budget; /* remaining work limit for its analyses */
	GMT_VEC(char *) warnings; /* from malloc */
};

/* Held while state of the process is used: work budget, memory limit, messages, symbol cache. */
extern pthread_mutex_t gmt_read_process_lock;

/*
 * Returns a recording with one reference. The caller loads a file into its pipeline. NULL:
 * out of memory.
 */
struct gpumemtrace_recording *gmt_read_recording_new(void);

/* Adds a reference. Any thread that has a reference may call it. */
void gmt_read_recording_ref(struct gpumemtrace_recording *recording);

/* Removes a reference, and frees the recording after the last one. */
void gmt_read_recording_unref(struct gpumemtrace_recording *recording);

/*
 * Runs the analyses of `work` that were not run yet. The caller holds recording->lock. After a
 * failure, each later call fails in the same way.
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

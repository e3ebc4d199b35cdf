/* SPDX-License-Identifier: MIT */
#include "library/tables/recording.h"

#include <stdlib.h>

#include "gpumemtrace-read.h"
#include "reader/load/clock.h"
#include "reader/symbols/symbols_cache.h"

pthread_mutex_t gmt_read_process_lock = PTHREAD_MUTEX_INITIALIZER;

struct gpumemtrace_recording *gmt_read_recording_new(void)
{
	struct gpumemtrace_recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		return NULL;
	atomic_init(&recording->users, 1);
	pthread_mutex_init(&recording->lock, NULL);
	return recording;
}

void gmt_read_recording_ref(struct gpumemtrace_recording *recording)
{
	atomic_fetch_add_explicit(&recording->users, 1, memory_order_relaxed);
}

static void free_recording(struct gpumemtrace_recording *recording)
{
	gmt_block_list_fini(&recording->blocks);
	gmt_pipeline_fini(&recording->pipeline);
	for (size_t i = 0; i < recording->warnings.count; i++)
		free(recording->warnings.items[i]);
	gmt_vec_fini(&recording->warnings);
	pthread_mutex_destroy(&recording->lock);
	free(recording);
}

void gmt_read_recording_unref(struct gpumemtrace_recording *recording)
{
	if (atomic_fetch_sub_explicit(&recording->users, 1, memory_order_acq_rel) == 1)
		free_recording(recording);
}

static enum gmt_status find_names(struct gpumemtrace_recording *recording, struct gmt_error *error)
{
	struct gmt_pipeline_options options = { .traces.symbols_cache = gmt_symbols_cache_open() };
	enum gmt_status status = gmt_pipeline_name(&recording->pipeline, &options, error);

	gmt_symbols_cache_close(options.traces.symbols_cache);
	return status;
}

static enum gmt_status analyze(struct gpumemtrace_recording *recording, struct gmt_error *error)
{
	struct gmt_pipeline_options options = {
		.leaks = gmt_pipeline_default_leaks,
		.wants_report_details = true,
		.observer = &recording->blocks.observer,
	};

	gmt_block_list_init(&recording->blocks, recording->pipeline.recording);
	return gmt_pipeline_analyze(&recording->pipeline, &options, error);
}

enum gmt_status gmt_read_recording_prepare(struct gpumemtrace_recording *recording,
	enum gmt_read_work work, struct gmt_error *error)
{
	struct gmt_error *failure = &recording->failure;

	if (work > recording->done && !failure->status) {
		pthread_mutex_lock(&gmt_read_process_lock);
		gmt_budget = recording->budget;
		while (work > recording->done && !failure->status) {
			failure->status = recording->done == GMT_WORK_FILE ? find_names(recording, failure)
															   : analyze(recording, failure);
			recording->done += !failure->status;
		}
		recording->budget = gmt_budget;
		gmt_budget.left_out = 0;
		pthread_mutex_unlock(&gmt_read_process_lock);
	}
	if (work > recording->done)
		*error = *failure;
	return work > recording->done ? failure->status : GMT_OK;
}

int gmt_read_recording_status(enum gmt_status status)
{
	switch (status) {
	case GMT_OK:
		return GPUMEMTRACE_READ_OK;
	case GMT_USAGE:
		return GPUMEMTRACE_READ_ARGUMENT;
	case GMT_NO_FILE:
		return GPUMEMTRACE_READ_NO_FILE;
	case GMT_FORMAT:
	case GMT_DAMAGED:
		return GPUMEMTRACE_READ_FORMAT;
	case GMT_VERSION:
		return GPUMEMTRACE_READ_NEWER;
	case GMT_NO_MEMORY:
		return GPUMEMTRACE_READ_NO_MEMORY;
	default:
		return GPUMEMTRACE_READ_FAILED;
	}
}

void gpumemtrace_read_close(gpumemtrace_recording *recording)
{
	if (recording)
		gmt_read_recording_unref(recording);
}

const char *gpumemtrace_read_warning(gpumemtrace_recording *recording, size_t index)
{
	return index < recording->warnings.count ? recording->warnings.items[index] : NULL;
}

bool gmt_read_recording_is_complete(struct gpumemtrace_recording *recording)
{
	bool is_complete;

	pthread_mutex_lock(&gmt_read_process_lock);
	gmt_budget = recording->budget;
	is_complete = gmt_recording_complete(recording->pipeline.recording);
	gmt_budget.left_out = 0;
	pthread_mutex_unlock(&gmt_read_process_lock);
	return is_complete;
}

int64_t gmt_read_recording_time_ns(const struct gpumemtrace_recording *recording, uint64_t stamp)
{
	uint64_t time_ns = gmt_clock_time_ns(recording->pipeline.recording, stamp);

	return time_ns > INT64_MAX ? INT64_MAX : (int64_t)time_ns;
}

int gpumemtrace_read_is_complete(gpumemtrace_recording *recording)
{
	bool is_complete;

	pthread_mutex_lock(&recording->lock);
	is_complete = gmt_read_recording_is_complete(recording);
	pthread_mutex_unlock(&recording->lock);
	return is_complete;
}

int gpumemtrace_read_is_damaged(gpumemtrace_recording *recording)
{
	return recording->pipeline.recording->damaged;
}

int64_t gpumemtrace_read_duration_ns(gpumemtrace_recording *recording)
{
	return gmt_read_recording_time_ns(recording, recording->pipeline.recording->last_stamp);
}

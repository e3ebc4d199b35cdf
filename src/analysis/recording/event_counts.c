/* SPDX-License-Identifier: MIT */
#include "analysis/recording/event_counts.h"

#include <stdlib.h>

static bool count_event(struct gmt_event_counts *event_counts, struct gmt_map *apis,
	struct gmt_map *threads, const struct gmt_recording_event *event)
{
	uint64_t api, thread;

	if (!gmt_map_find(apis, event->api, &api)) {
		api = event_counts->apis.count;
		if (!gmt_vec_reserve(&event_counts->apis, 1) || !gmt_map_put(apis, event->api, api))
			return false;
		event_counts->apis.items[event_counts->apis.count++] =
			(struct gmt_event_counts_api){ .api = event->api };
	}
	if (!gmt_map_find(threads, event->thread, &thread)) {
		thread = event_counts->threads.count;
		if (!gmt_vec_reserve(&event_counts->threads, 1) ||
			!gmt_map_put(threads, event->thread, thread))
			return false;
		event_counts->threads.items[event_counts->threads.count++] =
			(struct gmt_event_counts_thread){ .thread = event->thread };
	}
	event_counts->apis.items[api].counts[0]++;
	event_counts->apis.items[api].counts[event->kind]++;
	event_counts->threads.items[thread].events++;
	return true;
}

static int most_called_first(const void *left, const void *right)
{
	const struct gmt_event_counts_api *a = left, *b = right;

	if (a->counts[0] != b->counts[0])
		return a->counts[0] > b->counts[0] ? -1 : 1;
	return (a->api > b->api) - (a->api < b->api);
}

static int busiest_first(const void *left, const void *right)
{
	const struct gmt_event_counts_thread *a = left, *b = right;

	if (a->events != b->events)
		return a->events > b->events ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

enum gmt_status gmt_event_counts_compute(struct gmt_event_counts *ret_event_counts,
	const struct gmt_recording *recording, struct gmt_error *error)
{
	struct gmt_map apis = { 0 }, threads = { 0 };
	struct gmt_events_reader reader;
	bool done = gmt_events_reader_init(&reader, &recording->events, 0);

	for (size_t i = 0; i < recording->events.count && done; i++)
		done = count_event(ret_event_counts, &apis, &threads, gmt_events_at(&reader, i));
	gmt_events_reader_fini(&reader);
	gmt_map_fini(&apis);
	gmt_map_fini(&threads);
	if (!done) {
		gmt_event_counts_fini(ret_event_counts);
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	if (ret_event_counts->apis.count)
		qsort(ret_event_counts->apis.items, ret_event_counts->apis.count,
			sizeof(*ret_event_counts->apis.items), most_called_first);
	if (ret_event_counts->threads.count)
		qsort(ret_event_counts->threads.items, ret_event_counts->threads.count,
			sizeof(*ret_event_counts->threads.items), busiest_first);
	return GMT_OK;
}

void gmt_event_counts_fini(struct gmt_event_counts *event_counts)
{
	gmt_vec_fini(&event_counts->apis);
	gmt_vec_fini(&event_counts->threads);
}

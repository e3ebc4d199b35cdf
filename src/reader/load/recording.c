/* SPDX-License-Identifier: MIT */
#include "reader/load/recording.h"

#include <string.h>

#include "base/budget.h"
#include "base/pages.h"
#include "reader/load/clock.h"

struct gmt_recording_event gmt_recording_event(const struct gmt_recording *recording, size_t index)
{
	return *gmt_events_at(recording->reader, index);
}

#define FIND(ids, vector, id) \
	do { \
		uint64_t index; \
		return gmt_map_find(&recording->ids, (id), &index) ? &recording->vector.items[index] \
														   : NULL; \
	} while (0)

const struct gmt_device *gmt_recording_device(const struct gmt_recording *recording,
	uint32_t ordinal)
{
	FIND(device_ids, devices, ordinal);
}

const struct gmt_api *gmt_recording_api(const struct gmt_recording *recording, uint32_t id)
{
	FIND(api_ids, apis, id);
}

const struct gmt_thread *gmt_recording_thread(const struct gmt_recording *recording, uint32_t id)
{
	FIND(thread_ids, threads, id);
}

const struct gmt_code *gmt_recording_code(const struct gmt_recording *recording, uint32_t id)
{
	FIND(code_ids, codes, id);
}

const struct gmt_frame *gmt_recording_frame(const struct gmt_recording *recording, uint32_t id)
{
	FIND(frame_ids, frame_places, id);
}

const struct gmt_frames *gmt_recording_frames(const struct gmt_recording *recording, uint32_t id)
{
	FIND(frames_ids, frames, id);
}

const struct gmt_stack *gmt_recording_stack(const struct gmt_recording *recording, uint32_t id)
{
	FIND(stack_ids, stacks, id);
}

const char *gmt_recording_name(const struct gmt_recording *recording, uint32_t id)
{
	uint64_t index;

	return gmt_map_find(&recording->name_ids, id, &index) ? recording->names.items[index].text.text
														  : "";
}

const char *gmt_recording_option(const struct gmt_recording *recording, const char *key)
{
	for (size_t i = 0; i < recording->options.count; i++)
		if (strcmp(recording->options.items[i].key.text, key) == 0)
			return recording->options.items[i].value.text;
	return "";
}

uint64_t gmt_recording_dropped(const struct gmt_recording *recording)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < recording->drops.count; i++)
		if (__builtin_add_overflow(dropped, recording->drops.items[i].count, &dropped))
			return INT64_MAX;
	return dropped > INT64_MAX ? INT64_MAX : dropped;
}

uint64_t gmt_recording_compacted_events(const struct gmt_recording *recording)
{
	const struct gmt_compacted_prefix *prefix = &recording->compacted;

	return prefix->events > prefix->survivors ? prefix->events - prefix->survivors : 0;
}

uint64_t gmt_recording_duration_ns(const struct gmt_recording *recording)
{
	return gmt_clock_time_ns(recording, recording->last_stamp);
}

bool gmt_recording_complete(const struct gmt_recording *recording)
{
	return recording->has_end && !recording->damaged && !recording->counts_differ &&
		!recording->unknown_events && !gmt_recording_dropped(recording) &&
		!gmt_budget_has_cut_results();
}

void gmt_recording_free(struct gmt_recording *recording)
{
	if (!recording)
		return;
	gmt_map_fini(&recording->device_ids);
	gmt_map_fini(&recording->api_ids);
	gmt_map_fini(&recording->thread_ids);
	gmt_map_fini(&recording->module_ids);
	gmt_map_fini(&recording->code_ids);
	gmt_map_fini(&recording->frame_ids);
	gmt_map_fini(&recording->frames_ids);
	gmt_map_fini(&recording->stack_ids);
	gmt_map_fini(&recording->name_ids);
	gmt_vec_fini(&recording->command);
	gmt_vec_fini(&recording->options);
	gmt_vec_fini(&recording->environment);
	gmt_vec_fini(&recording->apis);
	gmt_vec_fini(&recording->devices);
	gmt_vec_fini(&recording->threads);
	gmt_vec_fini(&recording->modules);
	gmt_vec_fini(&recording->codes);
	gmt_vec_fini(&recording->frame_places);
	gmt_vec_fini(&recording->frames);
	gmt_vec_fini(&recording->stacks);
	gmt_vec_fini(&recording->clocks);
	gmt_vec_fini(&recording->drops);
	gmt_vec_fini(&recording->notes);
	gmt_vec_fini(&recording->names);
	gmt_compacted_prefix_fini(&recording->compacted);
	gmt_vec_fini(&recording->compacted_traces);
	gmt_vec_fini(&recording->marks);
	gmt_vec_fini(&recording->ooms);
	gmt_vec_fini(&recording->samples);
	gmt_vec_fini(&recording->pools);
	gmt_vec_fini(&recording->calls);
	gmt_vec_fini(&recording->unhooked);
	gmt_events_fini(&recording->events);
	gmt_event_shapes_fini(&recording->shapes);
	if (recording->reader)
		gmt_events_reader_fini(recording->reader);
	gmt_pages_free(recording->reader, sizeof(*recording->reader));
	gmt_vec_fini(&recording->traces);
	gmt_arena_fini(&recording->arena);
	gmt_pages_free(recording, sizeof(*recording));
}

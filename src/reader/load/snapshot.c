/* SPDX-License-Identifier: MIT */
#include "reader/load/snapshot.h"

#include <string.h>

#include "base/budget.h"
#include "base/pages.h"
#include "reader/load/clock.h"

struct gmt_snapshot_event gmt_snapshot_event(const struct gmt_snapshot *snapshot, size_t index)
{
	return *gmt_events_at(snapshot->reader, index);
}

#define FIND(ids, vector, id) \
	do { \
		uint64_t index; \
		return gmt_map_find(&snapshot->ids, (id), &index) ? &snapshot->vector.items[index] : NULL; \
	} while (0)

const struct gmt_device *gmt_snapshot_device(const struct gmt_snapshot *snapshot, uint32_t ordinal)
{
	FIND(device_ids, devices, ordinal);
}

const struct gmt_api *gmt_snapshot_api(const struct gmt_snapshot *snapshot, uint32_t id)
{
	FIND(api_ids, apis, id);
}

const struct gmt_thread *gmt_snapshot_thread(const struct gmt_snapshot *snapshot, uint32_t id)
{
	FIND(thread_ids, threads, id);
}

const struct gmt_code *gmt_snapshot_code(const struct gmt_snapshot *snapshot, uint32_t id)
{
	FIND(code_ids, codes, id);
}

const struct gmt_frame *gmt_snapshot_frame(const struct gmt_snapshot *snapshot, uint32_t id)
{
	FIND(frame_ids, frame_places, id);
}

const struct gmt_frames *gmt_snapshot_frames(const struct gmt_snapshot *snapshot, uint32_t id)
{
	FIND(frames_ids, frames, id);
}

const struct gmt_stack *gmt_snapshot_stack(const struct gmt_snapshot *snapshot, uint32_t id)
{
	FIND(stack_ids, stacks, id);
}

const char *gmt_snapshot_option(const struct gmt_snapshot *snapshot, const char *key)
{
	for (size_t i = 0; i < snapshot->options.count; i++)
		if (strcmp(snapshot->options.items[i].key.text, key) == 0)
			return snapshot->options.items[i].value.text;
	return "";
}

uint64_t gmt_snapshot_dropped(const struct gmt_snapshot *snapshot)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < snapshot->drops.count; i++)
		if (__builtin_add_overflow(dropped, snapshot->drops.items[i].count, &dropped))
			return INT64_MAX;
	return dropped > INT64_MAX ? INT64_MAX : dropped;
}

uint64_t gmt_snapshot_compacted_events(const struct gmt_snapshot *snapshot)
{
	const struct gmt_compact_row *fold = &snapshot->compacted.fold;

	return fold->events > fold->survivors ? fold->events - fold->survivors : 0;
}

uint64_t gmt_snapshot_duration_ns(const struct gmt_snapshot *snapshot)
{
	return gmt_clock_time_ns(snapshot, snapshot->last_stamp);
}

bool gmt_snapshot_complete(const struct gmt_snapshot *snapshot)
{
	return snapshot->has_end && !snapshot->damaged && !snapshot->counts_differ &&
		!snapshot->unknown_events && !gmt_snapshot_dropped(snapshot) && !gmt_budget_has_cut();
}

void gmt_snapshot_free(struct gmt_snapshot *snapshot)
{
	if (!snapshot)
		return;
	gmt_map_fini(&snapshot->device_ids);
	gmt_map_fini(&snapshot->api_ids);
	gmt_map_fini(&snapshot->thread_ids);
	gmt_map_fini(&snapshot->module_ids);
	gmt_map_fini(&snapshot->code_ids);
	gmt_map_fini(&snapshot->frame_ids);
	gmt_map_fini(&snapshot->frames_ids);
	gmt_map_fini(&snapshot->stack_ids);
	gmt_map_fini(&snapshot->name_ids);
	gmt_vec_fini(&snapshot->command);
	gmt_vec_fini(&snapshot->options);
	gmt_vec_fini(&snapshot->apis);
	gmt_vec_fini(&snapshot->devices);
	gmt_vec_fini(&snapshot->threads);
	gmt_vec_fini(&snapshot->modules);
	gmt_vec_fini(&snapshot->codes);
	gmt_vec_fini(&snapshot->frame_places);
	gmt_vec_fini(&snapshot->frames);
	gmt_vec_fini(&snapshot->stacks);
	gmt_vec_fini(&snapshot->clocks);
	gmt_vec_fini(&snapshot->drops);
	gmt_vec_fini(&snapshot->notes);
	gmt_vec_fini(&snapshot->names);
	gmt_compacted_fini(&snapshot->compacted);
	gmt_vec_fini(&snapshot->compacted_traces);
	gmt_vec_fini(&snapshot->marks);
	gmt_vec_fini(&snapshot->ooms);
	gmt_vec_fini(&snapshot->samples);
	gmt_vec_fini(&snapshot->pools);
	gmt_vec_fini(&snapshot->calls);
	gmt_vec_fini(&snapshot->unhooked);
	gmt_events_fini(&snapshot->events);
	gmt_shapes_fini(&snapshot->shapes);
	if (snapshot->reader)
		gmt_events_reader_fini(snapshot->reader);
	gmt_pages_free(snapshot->reader, sizeof(*snapshot->reader));
	gmt_vec_fini(&snapshot->traces);
	gmt_arena_fini(&snapshot->arena);
	gmt_pages_free(snapshot, sizeof(*snapshot));
}

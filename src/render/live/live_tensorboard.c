/* SPDX-License-Identifier: MIT */
#include "render/export/trace/tensorboard_events.h"
#include "render/live/live.h"
#include "render/memory_names.h"

static void add(struct gmt_tensorboard_events *events, const char *name,
	const struct gmt_live_device *device, uint64_t bytes)
{
	char tag[120];

	snprintf(tag, sizeof(tag), "%s, %s", name, gmt_device_text(device->device).text);
	gmt_tensorboard_events_add(events, tag, bytes);
}

bool gmt_live_tensorboard(FILE *file, const struct gmt_live_process *process, bool is_first)
{
	struct gmt_tensorboard_events events = { .file = file };
	const struct gmt_live_view *view = process->view;
	uint64_t time_ns = process->follow->recording->process.start_time_ns + view->time_ns;

	if (is_first)
		gmt_tensorboard_events_begin(&events, time_ns);
	else
		gmt_tensorboard_events_continue(&events);
	for (size_t i = 0; i < view->devices.count; i++) {
		const struct gmt_live_device *device = &view->devices.items[i];

		if (device->has_torch) {
			add(&events, "live memory/torch", device, device->allocated_bytes);
			add(&events, "reserved memory/torch", device, device->reserved_bytes);
		}
		add(&events, "live memory/cuda", device, device->cuda_bytes);
		if (device->has_sample)
			add(&events, "free memory/device", device, device->free_bytes);
	}
	gmt_tensorboard_events_write(&events,
		view->steps ? view->steps->steps : view->time_ns / 1000000, time_ns);
	return gmt_tensorboard_events_fini(&events);
}

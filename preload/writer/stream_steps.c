/* SPDX-License-Identifier: MIT */
#include "writer/stream_steps.h"

void gmt_stream_count_step(struct gmt_stream *stream, const struct gmt_ring_event *mark)
{
	for (unsigned i = 0; i < GMT_STREAM_STEPPERS; i++) {
		if (!stream->steps[i].count) {
			stream->steps[i].source = mark->space;
			stream->steps[i].object = mark->address;
		}
		if (stream->steps[i].source == mark->space && stream->steps[i].object == mark->address) {
			stream->steps[i].count++;
			return;
		}
	}
}

uint64_t gmt_stream_steps(const struct gmt_stream *stream)
{
	uint64_t max_steps = 0;

	for (unsigned i = 0; i < GMT_STREAM_STEPPERS; i++)
		max_steps = stream->steps[i].count > max_steps ? stream->steps[i].count : max_steps;
	return max_steps;
}

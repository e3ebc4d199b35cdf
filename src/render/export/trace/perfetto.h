/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_TRACE_PERFETTO_H
#define GMT_RENDER_EXPORT_TRACE_PERFETTO_H

/*
 * Parts of a trace of Perfetto: packets, which are messages of Protocol Buffers. Field numbers are
 * those of perfetto_trace.proto.
 */

#include <stdio.h>

#include "render/export/protobuf.h"
#include "render/export/trace/trace.h"

enum {
	GMT_PERFETTO_TIMESTAMP = 8,
	GMT_PERFETTO_SEQUENCE = 10, /* all packets have the number 1 */
	GMT_PERFETTO_TRACK_EVENT = 11,
	GMT_PERFETTO_INTERNED_DATA = 12,
	GMT_PERFETTO_SEQUENCE_FLAGS = 13,
	GMT_PERFETTO_PROFILE = 37,
	GMT_PERFETTO_TIMESTAMP_CLOCK = 58,
	GMT_PERFETTO_TRACK_DESCRIPTOR = 60,
};

/* Clocks of Linux. */
enum { GMT_PERFETTO_REALTIME = 1, GMT_PERFETTO_MONOTONIC = 3, GMT_PERFETTO_MONOTONIC_COARSE = 4 };

/* Sequence flags: names and stacks begin with this packet, or earlier packets have them. */
enum { GMT_PERFETTO_STATE_CLEARED = 1, GMT_PERFETTO_STATE_NEEDED = 2 };

struct gmt_perfetto {
	struct gmt_trace trace; /* the first member: the functions of its form cast it back */
	FILE *file;
	uint64_t start_ns; /* start of the recording on the monotonic clock */
	/* messages that are written again and again: the trace's next field, a packet, its event */
	struct gmt_protobuf trace_field, packet, event;
	bool failed; /* out of memory */
	GMT_VEC(bool) known_curves; /* for each track of a curve: it has its name */
};

/* Writes a packet and empties it. The output budget may be spent: then nothing is written. */
void gmt_perfetto_write(struct gmt_perfetto *perfetto, struct gmt_protobuf *packet);

/* Writes the clocks, with the first packet of the sequence. */
void gmt_perfetto_write_clocks(struct gmt_perfetto *perfetto);

/* Writes all stacks. A later packet refers to a stack by its number plus 1. */
void gmt_perfetto_stacks(struct gmt_perfetto *perfetto);

/*
 * Writes heap dumps, which the viewer shows as flame graphs: of each account at its peak, and at
 * the end of the program's work.
 */
void gmt_perfetto_heap_dumps(struct gmt_perfetto *perfetto);

#endif

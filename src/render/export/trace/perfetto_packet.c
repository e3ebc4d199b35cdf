/* SPDX-License-Identifier: MIT */
/* Packets of a trace of Perfetto: each has the number and the state of the sequence. */
#include "base/budget.h"
#include "render/export/trace/perfetto.h"

static void write_packet(struct gmt_perfetto *perfetto, struct gmt_protobuf *packet, uint64_t flags)
{
	struct gmt_protobuf *out = &perfetto->trace_field;

	gmt_protobuf_number(packet, GMT_PERFETTO_SEQUENCE, 1);
	gmt_protobuf_number(packet, GMT_PERFETTO_SEQUENCE_FLAGS, flags);
	gmt_protobuf_message(out, 1, packet);
	perfetto->failed |= packet->failed || out->failed;
	if (gmt_budget_spend_output(out->bytes.count))
		fwrite(out->bytes.items, 1, out->bytes.count, perfetto->file);
	gmt_protobuf_clear(out);
	gmt_protobuf_clear(packet);
}

void gmt_perfetto_write(struct gmt_perfetto *perfetto, struct gmt_protobuf *packet)
{
	gmt_protobuf_number(packet, GMT_PERFETTO_TIMESTAMP_CLOCK, GMT_PERFETTO_MONOTONIC);
	write_packet(perfetto, packet, GMT_PERFETTO_STATE_NEEDED);
}

void gmt_perfetto_write_clocks(struct gmt_perfetto *perfetto)
{
	enum { CLOCK_SNAPSHOT = 6, CLOCKS = 1, PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
	const uint64_t clocks[][2] = {
		{ GMT_PERFETTO_REALTIME, perfetto->trace.export->recording->process.start_time_ns },
		{ GMT_PERFETTO_MONOTONIC, perfetto->start_ns },
		{ GMT_PERFETTO_MONOTONIC_COARSE, perfetto->start_ns },
	};
	struct gmt_protobuf packet = { 0 }, snapshot = { 0 }, clock = { 0 };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		gmt_protobuf_clear(&clock);
		gmt_protobuf_number(&clock, CLOCK_ID, clocks[i][0]);
		gmt_protobuf_number(&clock, CLOCK_TIMESTAMP, clocks[i][1]);
		gmt_protobuf_message(&snapshot, CLOCKS, &clock);
	}
	gmt_protobuf_number(&snapshot, PRIMARY, GMT_PERFETTO_MONOTONIC);
	gmt_protobuf_message(&packet, CLOCK_SNAPSHOT, &snapshot);
	write_packet(perfetto, &packet, GMT_PERFETTO_STATE_CLEARED);
	gmt_vec_fini(&packet.bytes);
	gmt_vec_fini(&snapshot.bytes);
	gmt_vec_fini(&clock.bytes);
}

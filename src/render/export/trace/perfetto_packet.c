/* SPDX-License-Identifier: MIT */
#include "base/budget.h"
#include "render/export/trace/perfetto.h"

void gmt_perfetto_write(struct gmt_perfetto *perfetto, struct gmt_protobuf *packet)
{
	struct gmt_protobuf *out = &perfetto->trace_field;

	gmt_protobuf_number(packet, GMT_PERFETTO_SEQUENCE, 1);
	gmt_protobuf_number(packet, GMT_PERFETTO_SEQUENCE_FLAGS, GMT_PERFETTO_STATE_NEEDED);
	gmt_protobuf_number(packet, GMT_PERFETTO_TIMESTAMP_CLOCK, GMT_PERFETTO_MONOTONIC);
	gmt_protobuf_message(out, 1, packet);
	perfetto->failed |= packet->failed || out->failed;
	if (gmt_budget_write(out->bytes.count))
		fwrite(out->bytes.items, 1, out->bytes.count, perfetto->file);
	gmt_protobuf_clear(out);
	gmt_protobuf_clear(packet);
}

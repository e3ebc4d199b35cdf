/* SPDX-License-Identifier: MIT */
#include "reader/load/mark_spans.h"

#include "containers/bisect.h"

bool gmt_mark_spans_read(struct gmt_mark_spans *spans, const struct gmt_recording *recording,
	enum gmt_mark_kind begins, enum gmt_mark_kind ends)
{
	uint64_t open = 0;

	for (size_t i = 0; i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];
		struct gmt_span *span;

		if (mark->kind == ends && open) {
			open--;
			if (!open)
				spans->items.items[spans->items.count - 1].end = mark->stamp;
		}
		if (mark->kind != begins || open++)
			continue;
		span = gmt_vec_push(&spans->items);
		if (!span)
			return false;
		*span = (struct gmt_span){ .begin = mark->stamp, .end = UINT64_MAX };
	}
	return true;
}

bool gmt_mark_spans_have(const struct gmt_mark_spans *spans, uint64_t stamp)
{
	size_t begun = GMT_BISECT(at, spans->items.count, spans->items.items[at].begin <= stamp);

	return begun && stamp <= spans->items.items[begun - 1].end;
}

void gmt_mark_spans_fini(struct gmt_mark_spans *spans)
{
	gmt_vec_fini(&spans->items);
}

/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_CHROME_WRITER_H
#define GMT_RENDER_EXPORT_CHROME_WRITER_H

/* Writes the events of Chrome's format, which chrome.c describes. */

#include <stdbool.h>
#include <stdint.h>

#include "reader/load/clock.h"
#include "render/export/export.h"
#include "render/json.h"

/*
 * The number of a track is written as that of a thread. It is above all thread ids of Linux, so
 * that a track never is one with a thread of another file.
 */
enum { GMT_CHROME_FIRST_TRACK = 1 << 30, GMT_CHROME_REFUSALS = 1, GMT_CHROME_SLICES = 2 };

struct gmt_chrome {
	struct gmt_export *export;
	struct gmt_json json;
	uint64_t start_ns; /* start of the recording, after the base time */
	uint64_t end_ns;   /* slices end here, at the latest */
};

/* Nanoseconds since the recording began. */
struct gmt_chrome_span {
	uint64_t begin_ns, end_ns;
};

/* Begins an event. The caller may add keys, and ends the object. */
void gmt_chrome_begin(struct gmt_chrome *chrome, const char *phase, const char *name,
	uint64_t time_ns, uint32_t track);

/* Writes the name of a track ("thread_name") or of the process ("process_name"). */
void gmt_chrome_name(struct gmt_chrome *chrome, const char *what, const char *name, uint32_t track);

void gmt_chrome_slice(struct gmt_chrome *chrome, const char *name, struct gmt_chrome_span span,
	uint32_t track);

#endif

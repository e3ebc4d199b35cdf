/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_EXPORT_H
#define GMT_RENDER_EXPORT_EXPORT_H

/*
 * Files for viewers of other projects: export_formats.def lists them. A format of profiles writes
 * the numbers of a profile. A format of events replays the recording itself, with an observer that
 * writes: its memory grows with sites and live blocks, not with events.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/profile/profile.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"
#include "reader/steps/timeline.h"

/* What a writer gets. It borrows everything. */
struct gmt_export {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_timeline *timeline; /* with steps and phases for formats that show them */
	struct gmt_profile_choice choice;
	const struct gmt_replay *replay; /* up to the same moment; its sites have the same numbers */
	const struct gmt_profile *profile; /* for formats of profiles, else NULL */
	enum gmt_profile_value value; /* for formats with one number for each stack */
	size_t first;      /* for formats of events: number of the first event to write */
	uint64_t until_ns; /* for formats of events: end of the replay */
	uint64_t max_events; /* for formats with option --max-events; UINT64_MAX: not given */
	const void *user; /* of the writer, if a verb gave its own */
	/* set by the writer: what the file lacks, for a message to the user. "": nothing */
	char left_out[200];
};

/* Writes the file. Errors of the stream stay in it. Other failures set `error`. */
typedef enum gmt_status gmt_export_writer(struct gmt_export *export, FILE *file,
	struct gmt_error *error);

enum gmt_export_kind {
	GMT_EXPORT_TABLES, /* a folder, which the Python package writes */
	GMT_EXPORT_DATABASE, /* the same tables in a file of SQLite (tools/database) */
	GMT_EXPORT_PROFILE,
	GMT_EXPORT_EVENTS,
};

/* The options of `export` that only some formats have, as bits. */
enum gmt_export_option {
	GMT_EXPORT_ENGINE = 1 << 0, /* --partition, --parallel, --python */
	GMT_EXPORT_STACKS = 1 << 1, /* --native, --owners, --symbol-path, --no-symbol-cache */
	GMT_EXPORT_UNTIL = 1 << 2,
	GMT_EXPORT_FROM = 1 << 3,
	GMT_EXPORT_AT = 1 << 4,
	GMT_EXPORT_LAYER = 1 << 5, /* without --layer: all layers */
	GMT_EXPORT_ONE_LAYER = 1 << 9, /* in addition: without --layer, that of the overview */
	GMT_EXPORT_DEVICE = 1 << 6,
	GMT_EXPORT_ONE_DEVICE = 1 << 11, /* in addition: without --device, the fullest one */
	GMT_EXPORT_VALUE = 1 << 7,
	GMT_EXPORT_MAX_EVENTS = 1 << 8,
	GMT_EXPORT_TABLE = 1 << 12,
	GMT_EXPORT_BY = 1 << 13,
	/* not an option: without --at and --until, the file ends where the program's work ends */
	GMT_EXPORT_TO_WORK_END = 1 << 10,
	/* not an option: the file shows steps or phases */
	GMT_EXPORT_STEPS = 1 << 14,
};

enum gmt_export_format {
#define GMT_EXPORT_FORMAT(NAME, ...) GMT_EXPORT_FORMAT_##NAME,
#include "render/export/export_formats.def"
#undef GMT_EXPORT_FORMAT
	GMT_EXPORT_FORMATS,
};

struct gmt_export_format_info {
	const char *name;
	const char *suffix; /* of the file's name, with its dot */
	enum gmt_export_kind kind;
	unsigned options; /* enum gmt_export_option, or-ed */
	gmt_export_writer *write; /* NULL for tables and databases */
	const char *viewer; /* who opens it */
};

extern const struct gmt_export_format_info gmt_export_formats[GMT_EXPORT_FORMATS];

#define GMT_EXPORT_FORMAT(NAME, name, suffix, kind, options, write, viewer) \
	GMT_EXPORT_WRITER_##kind(write)
#define GMT_EXPORT_WRITER_TABLES(write)
#define GMT_EXPORT_WRITER_DATABASE(write)
#define GMT_EXPORT_WRITER_PROFILE(write) gmt_export_writer write;
#define GMT_EXPORT_WRITER_EVENTS(write) gmt_export_writer write;
#include "render/export/export_formats.def"
#undef GMT_EXPORT_FORMAT

#endif

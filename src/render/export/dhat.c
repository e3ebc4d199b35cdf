/* SPDX-License-Identifier: MIT */
/*
 * A file for DHAT's viewer, in version 2 of its format. The format has no devices, so a file is
 * about one. A program point ("pp") is a stack, with the innermost frame first: two points with the
 * same frames are an error in the viewer. Times are in microseconds.
 *
 *   tb, tbk   bytes and blocks of all allocations
 *   tl        sum of the lifetimes of these blocks
 *   mb, mbk   bytes and blocks at the peak of the point itself
 *   gb, gbk   bytes and blocks at "t-gmax", the peak of the device
 *   eb, ebk   bytes and blocks at "t-end"
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader/load/clock.h"
#include "render/export/export_replay.h"
#include "render/export/frames.h"
#include "render/json.h"

enum { FILE_VERSION = 2, SHORT_LIVED_US = 1000 };
/* Indexes in the list of frames. The frame of place N is FIRST_PLACE + N. */
enum { FRAME_NO_STACK = 1, FIRST_PLACE = 2 };

/* What the blocks of a stack did. */
struct point {
	uint64_t live_bytes, live_blocks;
	uint64_t max_bytes, max_blocks;
	/* sum of the times of the ends, less those of the begins: wraps until all blocks have ended */
	uint64_t lifetime_ns;
};

struct writer {
	struct gmt_export *export;
	struct gmt_json json;
	GMT_VEC(struct point) points; /* by stack */
	uint64_t end_ns;
};

/* Returns the point of a site, or NULL if the file does not include the site. */
static struct point *find_point(struct writer *writer, const struct gmt_replay *replay,
	uint32_t site)
{
	return gmt_export_includes_site(writer->export, replay, site)
		? &writer->points.items[replay->site_stacks.items[site]]
		: NULL;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct writer *writer = user;
	struct point *point = find_point(writer, replay, site);

	if (!point)
		return true;
	point->live_bytes += event->size_bytes;
	point->live_blocks++;
	point->lifetime_ns -= gmt_clock_time_ns(writer->export->recording, event->stamp);
	if (point->live_bytes > point->max_bytes) {
		point->max_bytes = point->live_bytes;
		point->max_blocks = point->live_blocks;
	}
	return true;
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct writer *writer = user;
	struct point *point = find_point(writer, replay, block->site);

	if (!point)
		return true;
	point->live_bytes -= block->size_bytes;
	point->live_blocks--;
	point->lifetime_ns += gmt_clock_time_ns(writer->export->recording, event->stamp);
	return true;
}

/* A block that is live at the end has lived until then. */
static bool on_finished(void *user, const struct gmt_replay *replay)
{
	struct writer *writer = user;
	const struct gmt_traces *traces = writer->export->traces;

	writer->end_ns = replay->end_time_ns;
	for (uint32_t i = 0; i < traces->stacks.entries.count; i++)
		writer->points.items[i].lifetime_ns += writer->points.items[i].live_blocks * writer->end_ns;
	return true;
}

/* Follows the blocks of each stack. */
static enum gmt_status follow_blocks(struct writer *writer, struct gmt_error *error)
{
	const struct gmt_replay_observer observer = {
		.began = on_began, .ended = on_ended, .finished = on_finished, .user = writer
	};

	/* The reserved memory is zeroed. */
	if (!gmt_vec_reserve(&writer->points, writer->export->traces->stacks.entries.count + 1))
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return gmt_export_replay(writer->export, &observer, error);
}

static void write_command(struct writer *writer)
{
	const struct gmt_recording *recording = writer->export->recording;
	char *line = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&line, &length);

	if (memory) {
		for (size_t i = 0; i < recording->command.count; i++)
			fprintf(memory, i ? " %s" : "%s", recording->command.items[i]);
		fclose(memory);
	}
	gmt_json_key_text(&writer->json, "cmd", line ? line : "");
	free(line);
}

static void write_head(struct writer *writer)
{
	const struct gmt_export *export = writer->export;
	const struct gmt_profile_choice *choice = &export->choice;
	const struct gmt_account *account = gmt_accounting_find_account(&export->replay->accounting,
		choice->layer, (int16_t)choice->device);
	uint64_t peak_ns = account ? gmt_clock_time_ns(export->recording, account->peak_stamp) : 0;
	uint64_t end_us = writer->end_ns / 1000;
	struct gmt_json *json = &writer->json;
	char mode[160];

	snprintf(mode, sizeof(mode), "gpumemtrace, layer %s, %s", gmt_layer_name(choice->layer),
		gmt_device_text(choice->device).text);
	gmt_json_key_u64(json, "dhatFileVersion", FILE_VERSION);
	gmt_json_key_text(json, "mode", mode);
	gmt_json_key_text(json, "verb", "Allocated");
	gmt_json_key_bool(json, "bklt", true);
	gmt_json_key_bool(json, "bkacc", false);
	gmt_json_key_text(json, "tu", "\302\265s");
	gmt_json_key_text(json, "Mtu", "s");
	gmt_json_key_u64(json, "tuth", SHORT_LIVED_US);
	write_command(writer);
	gmt_json_key_u64(json, "pid", export->recording->process.pid);
	gmt_json_key_u64(json, "tg", peak_ns / 1000);
	/* The viewer divides by the end. */
	gmt_json_key_u64(json, "te", end_us ? end_us : 1);
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Writes the point of a stack. `values` are the sums of its sites. */
static void write_point(struct writer *writer, uint32_t stack, const uint64_t *values)
{
	const struct point *point = &writer->points.items[stack];
	struct gmt_json *json = &writer->json;
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(writer->export->traces, stack, &count);

	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "tb", values[GMT_PROFILE_ALLOCATED_BYTES]);
	gmt_json_key_u64(json, "tbk", values[GMT_PROFILE_ALLOCATIONS]);
	gmt_json_key_u64(json, "tl", point->lifetime_ns / 1000);
	/* In a compacted recording, the point's own peak may lie in events that are gone. */
	gmt_json_key_u64(json, "mb",
		largest(point->max_bytes,
			largest(values[GMT_PROFILE_PEAK_BYTES], values[GMT_PROFILE_LIVE_BYTES])));
	gmt_json_key_u64(json, "mbk",
		largest(point->max_blocks,
			point->max_bytes < values[GMT_PROFILE_PEAK_BYTES] ? values[GMT_PROFILE_PEAK_BLOCKS]
															  : 0));
	gmt_json_key_u64(json, "gb", values[GMT_PROFILE_PEAK_BYTES]);
	gmt_json_key_u64(json, "gbk", values[GMT_PROFILE_PEAK_BLOCKS]);
	gmt_json_key_u64(json, "eb", values[GMT_PROFILE_LIVE_BYTES]);
	gmt_json_key_u64(json, "ebk", values[GMT_PROFILE_LIVE_BLOCKS]);
	gmt_json_key_array(json, "fs");
	if (!count)
		gmt_json_u64(json, FRAME_NO_STACK);
	for (uint32_t i = 0; i < count; i++)
		gmt_json_u64(json, (uint64_t)places[i] + FIRST_PLACE);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

/* Writes a point for each stack: rows of the same stack follow each other. */
static void write_points(struct writer *writer)
{
	const struct gmt_profile *profile = writer->export->profile;
	size_t next;

	gmt_json_key_array(&writer->json, "pps");
	for (size_t first = 0; first < profile->rows.count && !gmt_json_is_full(&writer->json);
		first = next) {
		uint32_t stack = profile->rows.items[first].stack;
		uint64_t values[GMT_PROFILE_VALUES] = { 0 };

		for (next = first; next < profile->rows.count && profile->rows.items[next].stack == stack;
			next++)
			for (size_t i = 0; i < GMT_PROFILE_VALUES; i++)
				values[i] = gmt_saturating_add_u64(values[i], profile->rows.items[next].values[i]);
		write_point(writer, stack, values);
	}
	gmt_json_end_array(&writer->json);
}

/* Writes "0x1: train (model.py:12)". The address is a number of the frame. */
static bool write_frame(struct writer *writer, uint32_t id)
{
	char *line = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&line, &length);
	bool done;

	if (!memory)
		return false;
	fprintf(memory, "0x%" PRIX64 ": ", (uint64_t)id + FIRST_PLACE);
	gmt_export_frame(memory, writer->export->traces, id, "");
	done = !fclose(memory);
	if (done)
		gmt_json_text(&writer->json, line);
	free(line);
	return done;
}

static bool write_frames(struct writer *writer)
{
	bool done = true;

	gmt_json_key_array(&writer->json, "ftbl");
	gmt_json_text(&writer->json, "[root]");
	gmt_json_text(&writer->json, GMT_EXPORT_NO_STACK);
	for (uint32_t id = 0; id < writer->export->traces->places.entries.count && done; id++)
		done = write_frame(writer, id);
	gmt_json_end_array(&writer->json);
	return done;
}

/* Adds that lifetimes are missing to what the file lacks. */
static void note_lifetimes(struct gmt_export *export)
{
	size_t length = strlen(export->left_out);

	snprintf(export->left_out + length, sizeof(export->left_out) - length,
		"%sthe lifetimes of blocks in %s folded events are not included", length ? "; " : "",
		gmt_text_count(gmt_recording_compacted_events(export->recording)).text);
}

enum gmt_status gmt_export_dhat(struct gmt_export *export, FILE *file, struct gmt_error *error)
{
	struct writer writer = { .export = export, .json = { .file = file } };
	enum gmt_status status = follow_blocks(&writer, error);

	if (!status) {
		gmt_json_begin_object(&writer.json);
		write_head(&writer);
		write_points(&writer);
		if (!write_frames(&writer))
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		gmt_json_end_object(&writer.json);
		fputc('\n', file);
	}
	if (export->recording->compacted.exists)
		note_lifetimes(export);
	gmt_vec_fini(&writer.points);
	return status;
}

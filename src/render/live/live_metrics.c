/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "analysis/recording/recorded_program.h"
#include "base/safe_text.h"
#include "render/live/live.h"

/* Writes a value of a label. Of the characters that can be shown, three need an escape. */
static void write_value(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text), length, skip;

	for (; left; at += length ? length : skip, left -= length ? length : skip) {
		length = gmt_safe_character_length(at, left, &skip);
		if (!length)
			fputc('?', file);
		else if (*at == '"' || *at == '\\')
			fprintf(file, "\\%c", *at);
		else
			fwrite(at, 1, length, file);
	}
}

/* Writes the labels that each metric has, without the closing brace. */
static void write_labels(FILE *file, const struct gmt_live_process *process)
{
	const struct gmt_recording *recording = process->follow->recording;

	fprintf(file, "{pid=\"%" PRIu32 "\"", process->pid);
	if (!recording->has_process)
		return;
	if (recording->process.rank >= 0)
		fprintf(file, ",rank=\"%" PRId32 "\"", recording->process.rank);
	fputs(",program=\"", file);
	write_value(file, gmt_recorded_program(recording));
	fputs("\",host=\"", file);
	write_value(file, recording->host);
	fputc('"', file);
}

static void write_device(FILE *file, const struct gmt_live_process *process, const char *name,
	const struct gmt_live_device *device, uint64_t value)
{
	fprintf(file, "gpumemtrace_%s_bytes", name);
	write_labels(file, process);
	if (device->device >= 0)
		fprintf(file, ",device=\"%d\"} %" PRIu64 "\n", device->device, value);
	else
		fprintf(file, ",device=\"host\"} %" PRIu64 "\n", value);
}

static void write_head(FILE *file, const char *name, const char *type, const char *unit,
	const char *help)
{
	fprintf(file, "# TYPE gpumemtrace_%s %s\n", name, type);
	if (*unit)
		fprintf(file, "# UNIT gpumemtrace_%s %s\n", name, unit);
	fprintf(file, "# HELP gpumemtrace_%s %s\n", name, help);
}

static void write_devices(FILE *file, const struct gmt_live_process *processes, size_t count)
{
#define GMT_LIVE_METRIC(name, is_known, value, help) \
	write_head(file, name "_bytes", "gauge", "bytes", help); \
	for (size_t i = 0; i < count; i++) \
		for (size_t d = 0; d < processes[i].view->devices.count; d++) { \
			const struct gmt_live_device *device = &processes[i].view->devices.items[d]; \
			if (is_known) \
				write_device(file, &processes[i], name, device, value); \
		}
#include "render/live/live_metrics.def"
#undef GMT_LIVE_METRIC
}

static void write_count(FILE *file, const struct gmt_live_process *process, const char *name,
	uint64_t value)
{
	fprintf(file, "gpumemtrace_%s_total", name);
	write_labels(file, process);
	fprintf(file, "} %" PRIu64 "\n", value);
}

void gmt_live_metrics(FILE *file, const struct gmt_live_process *processes, size_t count)
{
	write_devices(file, processes, count);
	write_head(file, "events", "counter", "", "Events of the recording.");
	for (size_t i = 0; i < count; i++)
		write_count(file, &processes[i], "events", processes[i].view->events);
	write_head(file, "dropped_events", "counter", "", "Events that the recorder lost.");
	for (size_t i = 0; i < count; i++)
		write_count(file, &processes[i], "dropped_events", processes[i].view->dropped_events);
	write_head(file, "refused_requests", "counter", "", "Requests for memory that were refused.");
	for (size_t i = 0; i < count; i++)
		write_count(file, &processes[i], "refused_requests", processes[i].view->refusals);
	write_head(file, "steps", "counter", "", "Steps that were marked, or made by an optimizer.");
	for (size_t i = 0; i < count; i++)
		if (processes[i].view->steps)
			write_count(file, &processes[i], "steps", processes[i].view->steps->steps);
	fputs("# EOF\n", file);
}

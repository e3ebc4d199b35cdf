/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/safe_text.h"
#include "base/text.h"
#include "render/json.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/running_processes.h"
#include "tools/output/message.h"

struct ps_options {
	bool json;
};

#define OFFSET_OF(field) offsetof(struct ps_options, field)
const struct gmt_option_row gmt_option_rows_ps[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "JSON instead of text" },
	{ 0 },
};
#undef OFFSET_OF

struct lister {
	struct gmt_json *json; /* NULL: text */
	unsigned count;
};

static const char *state_name(uint32_t state)
{
	switch (state) {
	case GMT_CONTROL_RECORDING:
		return "recording";
	case GMT_CONTROL_PAUSED:
		return "paused";
	case GMT_CONTROL_STOPPED:
		return "stopped";
	case GMT_CONTROL_ENDED:
		return "ended";
	}
	return "unknown";
}

/* A copy of the values in the recorder's control page. */
struct row {
	const char *state;
	char mode[16], program[GMT_CONTROL_TEXT_BYTES], path[GMT_CONTROL_PATH_BYTES];
	uint64_t events, dropped, file_bytes, snapshots, threads, start_time_ns;
};

static void read_row(const struct gmt_control_page *page, struct row *row)
{
	row->state = state_name(atomic_load(&page->state));
	row->events = atomic_load(&page->events);
	row->dropped = atomic_load(&page->dropped);
	row->file_bytes = atomic_load(&page->file_bytes);
	row->snapshots = atomic_load(&page->snapshots);
	row->threads = atomic_load(&page->threads);
	row->start_time_ns = page->start_time_ns;
	gmt_running_processes_text(page->mode, sizeof(page->mode), row->mode, sizeof(row->mode));
	gmt_running_processes_text(page->program, sizeof(page->program), row->program,
		sizeof(row->program));
	gmt_running_processes_text(page->path, sizeof(page->path), row->path, sizeof(row->path));
}

static void print_json(struct gmt_json *json, uint32_t pid, const struct row *row)
{
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "pid", pid);
	gmt_json_key_text(json, "state", row->state);
	gmt_json_key_text(json, "mode", row->mode);
	gmt_json_key_text(json, "program", row->program);
	gmt_json_key_text(json, "file", row->path);
	gmt_json_key_u64(json, "start_time_ns", row->start_time_ns);
	gmt_json_key_u64(json, "threads", row->threads);
	gmt_json_key_u64(json, "events", row->events);
	gmt_json_key_u64(json, "dropped_events", row->dropped);
	gmt_json_key_u64(json, "file_bytes", row->file_bytes);
	gmt_json_key_u64(json, "snapshots", row->snapshots);
	gmt_json_end_object(json);
}

/* Prints a text of another process, at least `width` columns wide. */
static void print_column(const char *text, size_t width)
{
	gmt_safe_print(stdout, text);
	for (size_t length = strlen(text); length < width; length++)
		putchar(' ');
}

static void print_text(unsigned index, uint32_t pid, const struct row *row)
{
	uint64_t now_ns = (uint64_t)time(NULL) * 1000000000;
	uint64_t age_ns = now_ns > row->start_time_ns ? now_ns - row->start_time_ns : 0;

	if (!index)
		printf("%8s  %-9s  %-9s  %10s  %12s  %8s  %10s  %-16s  %s\n", "PID", "STATE", "MODE", "FOR",
			"EVENTS", "DROPPED", "SIZE", "PROGRAM", "FILE");
	printf("%8u  %-9s  ", pid, row->state);
	print_column(row->mode, 9);
	printf("  %10s  %12llu  %8llu  %10s  ", gmt_text_duration(age_ns).text,
		(unsigned long long)row->events, (unsigned long long)row->dropped,
		gmt_text_size(row->file_bytes).text);
	print_column(row->program, 16);
	fputs("  ", stdout);
	gmt_safe_print(stdout, row->path);
	putchar('\n');
}

static bool list(void *context, const struct gmt_running_process *running)
{
	struct lister *lister = context;
	static struct row row;

	read_row(&running->control, &row);
	if (lister->json)
		print_json(lister->json, running->pid, &row);
	else
		print_text(lister->count, running->pid, &row);
	lister->count++;
	return true;
}

int gmt_cmd_ps(const struct gmt_command *command, int argc, char **argv)
{
	struct ps_options options = { 0 };
	struct gmt_json json = { .file = stdout, .pretty = true, .inline_depth = 2 };
	struct lister lister = { 0 };
	int code = gmt_options_parse(command, &options, false, &argc, argv);

	if (code >= 0)
		return code;
	if (argc) {
		gmt_message_error("ps: takes no operand");
		return GMT_EXIT_USAGE;
	}
	if (options.json) {
		lister.json = &json;
		gmt_json_begin_object(&json);
		gmt_json_key_text(&json, "schema", "gpumemtrace.ps/1");
		gmt_json_key(&json, "processes");
		gmt_json_begin_array(&json);
	}
	gmt_running_processes_each(list, &lister);
	if (options.json) {
		gmt_json_end_array(&json);
		gmt_json_end_object(&json);
		putchar('\n');
	} else if (!lister.count) {
		printf("none of your processes is being recorded\n");
	} else {
		gmt_message_hint("next: gpumemtrace snapshot PID");
	}
	return 0;
}

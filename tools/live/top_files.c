/* SPDX-License-Identifier: MIT */
/* The files of `top`: metrics for Prometheus, and events for TensorBoard. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/live/top.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/output/output.h"

const struct gmt_output_rules gmt_top_output_rules = { .has_no_force = true };

struct processes { /* layout of a GMT_VEC */
	struct gmt_live_process *items;
	size_t count, capacity;
};

/* Lists the processes that have metrics. */
static bool list_processes(const struct gmt_top *top, struct processes *processes)
{
	for (size_t i = 0; i < top->targets.count; i++) {
		const struct gmt_live_target *target = top->targets.items[i];
		struct gmt_live_process *slot;

		if (!target->has_view)
			continue;
		slot = gmt_vec_push(processes);
		if (!slot)
			return false;
		*slot = gmt_live_target_process(target, &top->choice);
	}
	return true;
}

static int write_metrics_file(const struct gmt_top *top, const char *text, size_t length)
{
	struct gmt_output *output =
		gmt_output_open_document(top->options->metrics_file, &gmt_top_output_rules);

	if (!output)
		return GMT_EXIT_UNREADABLE;
	fwrite(text, 1, length, gmt_output_file(output));
	return gmt_output_close(output, 0);
}

static int write_metrics(struct gmt_top *top, const struct processes *processes)
{
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	int code = 0;

	if (file)
		gmt_live_metrics(file, processes->items, processes->count);
	if (!file || fclose(file)) {
		free(text);
		gmt_message_error("top: out of memory");
		return GMT_EXIT_UNREADABLE;
	}
	if (top->server)
		gmt_metrics_server_set_text(top->server, text, length);
	if (top->options->metrics_file)
		code = write_metrics_file(top, text, length);
	free(text);
	return code;
}

/* Returns the path of a new file for TensorBoard. */
static char *make_events_path(const char *folder)
{
	char host[256] = "";
	char *path = NULL;

	gethostname(host, sizeof(host) - 1);
	if (asprintf(&path, "%s/events.out.tfevents.%" PRId64 ".%s.%d.gpumemtrace", folder,
			(int64_t)time(NULL), host, (int)getpid()) < 0)
		return NULL;
	return path;
}

static int append_event(struct gmt_top *top, const struct gmt_live_process *process)
{
	bool is_first = !top->events_path, done;
	char *bytes = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&bytes, &length);

	done = file && gmt_live_tensorboard(file, process, is_first);
	done = file && !fclose(file) && done;
	if (is_first)
		top->events_path = make_events_path(top->options->tensorboard);
	if (!done || !top->events_path) {
		free(bytes);
		gmt_message_error("top: out of memory");
		return GMT_EXIT_UNREADABLE;
	}
	done = gmt_output_append(top->events_path, &gmt_top_output_rules, bytes, length);
	free(bytes);
	return done ? 0 : GMT_EXIT_UNREADABLE;
}

/*
 * Writes an event of the first process, unless the process is in the same step as at the last
 * event.
 */
static int write_events(struct gmt_top *top, const struct processes *processes)
{
	const struct gmt_live_process *process = processes->items;

	if (!processes->count || process->read_percent < 100)
		return 0;
	if (process->view->steps) {
		if (top->events_path && process->view->steps->steps == top->last_steps)
			return 0;
		top->last_steps = process->view->steps->steps;
	}
	return append_event(top, process);
}

int gmt_top_files_write(struct gmt_top *top)
{
	const struct gmt_top_options *options = top->options;
	struct processes processes = { 0 };
	int code = 0;

	if (!options->metrics_file && !top->server && !options->tensorboard)
		return 0;
	if (!list_processes(top, &processes)) {
		gmt_message_error("top: out of memory");
		code = GMT_EXIT_UNREADABLE;
	}
	if (!code && (options->metrics_file || top->server))
		code = write_metrics(top, &processes);
	if (!code && options->tensorboard)
		code = write_events(top, &processes);
	gmt_vec_fini(&processes);
	return code;
}

/* SPDX-License-Identifier: MIT */
/*
 * A file of events for TensorBoard. The scalars of each step are the peak of each layer and device
 * in the step, and the live memory at its end. Without steps, they are live memory by milliseconds.
 */
#include "analysis/history/history.h"
#include "reader/load/clock.h"
#include "render/export/export_replay.h"
#include "render/export/trace/tensorboard_events.h"
#include "render/export/trace/trace.h"

struct writer {
	struct gmt_trace trace; /* the first member: the functions of its form cast it back */
	struct gmt_tensorboard_events events;
	struct gmt_history history;
};

/* Returns the moment of the Unix epoch, in nanoseconds. */
static uint64_t epoch_ns(const struct writer *writer, uint64_t time_ns)
{
	return writer->trace.export->recording->process.start_time_ns + time_ns;
}

/* Adds a scalar of an account. Its tag is "live memory/torch, GPU 0". */
static void add_scalar(struct writer *writer, const char *name, const struct gmt_account *account,
	uint64_t number)
{
	char tag[120];

	snprintf(tag, sizeof(tag), "%s/%s, %s", name, gmt_layer_name(account->layer),
		gmt_device_text(account->device).text);
	gmt_tensorboard_events_add(&writer->events, tag, number);
}

static void write_step(struct writer *writer, const struct gmt_accounting *accounting, size_t step,
	uint64_t time_ns)
{
	for (size_t i = 0; i < accounting->accounts.count && i < GMT_HISTORY_ACCOUNTS; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];
		struct gmt_history_step numbers = gmt_history_step_of(&writer->history.series[0], step, i);

		if (!account->peak_bytes ||
			!gmt_profile_includes(&writer->trace.export->choice, account->layer, account->device))
			continue;
		add_scalar(writer, "peak memory", account, numbers.peak_bytes);
		add_scalar(writer, "live memory", account, numbers.end_live_bytes);
	}
	gmt_tensorboard_events_write(&writer->events, step, epoch_ns(writer, time_ns));
}

static enum gmt_status write_steps(struct writer *writer, struct gmt_error *error)
{
	const struct gmt_export *export = writer->trace.export;
	const struct gmt_step_series *series = &export->timeline->series[0];
	const struct gmt_replay_options options = {
		.until_ns = export->until_ns, .observers = &writer->history.observer, .observer_count = 1
	};
	struct gmt_replay replay = { 0 };
	enum gmt_status status = gmt_history_init(&writer->history, export->recording, export->traces,
		export->timeline, export->until_ns, error);

	if (!status)
		status = gmt_replay_run(&replay, export->recording, export->traces, &options, error);
	for (size_t i = 0; !status && i < writer->history.series[0].step_count; i++)
		write_step(writer, &replay.accounting, i,
			gmt_clock_time_ns(export->recording, series->steps.items[i].end));
	gmt_replay_fini(&replay);
	gmt_history_fini(&writer->history);
	return status;
}

static void write_value(struct gmt_trace *trace, const struct gmt_account *account,
	uint64_t time_ns, uint64_t bytes)
{
	struct writer *writer = (struct writer *)trace;

	add_scalar(writer, "live memory", account, bytes);
	gmt_tensorboard_events_write(&writer->events, time_ns / 1000000, epoch_ns(writer, time_ns));
}

enum gmt_status gmt_export_tensorboard(struct gmt_export *export, FILE *file,
	struct gmt_error *error)
{
	static const struct gmt_trace_form form = { .value = write_value };
	struct writer writer = { .trace = gmt_trace_begin(export, &form), .events.file = file };
	enum gmt_status status;

	gmt_tensorboard_events_begin(&writer.events, epoch_ns(&writer, 0));
	if (export->timeline->series_count) {
		status = write_steps(&writer, error);
	} else {
		snprintf(export->left_out, sizeof(export->left_out),
			"the steps of the scalars are milliseconds, because no steps of training were found");
		status = gmt_trace_write(&writer.trace, error);
	}
	if (!gmt_tensorboard_events_fini(&writer.events) && !status)
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return status;
}

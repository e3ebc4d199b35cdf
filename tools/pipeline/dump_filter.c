/* SPDX-License-Identifier: MIT */
#include "tools/output/exit_codes.h"
#include "tools/pipeline/dump_filter.h"

#include <sys/stat.h>

#include "reader/load/clock.h"
#include "reader/replay/replay.h"
#include "tools/pipeline/dump_members.h"
#include "tools/pipeline/resolve_moment.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/message.h"

/* Returns whether the moment is not a time, but a word such as `peak`, or a step. */
static bool is_word(const struct gmt_moment *moment)
{
	return moment->kind != GMT_MOMENT_NOT_GIVEN && moment->kind != GMT_MOMENT_TIME;
}

/* Replaces a word by its time. */
static enum gmt_status to_time(struct gmt_moment *moment, const struct gmt_recording *recording,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, struct gmt_error *error)
{
	uint64_t time_ns = 0;
	enum gmt_status status;

	if (!is_word(moment))
		return GMT_OK;
	status = gmt_resolve_moment(moment, recording, traces, timeline, &time_ns, error);
	if (time_ns == GMT_REPLAY_TO_END)
		time_ns = gmt_recording_duration_ns(recording);
	*moment = (struct gmt_moment){ .kind = GMT_MOMENT_TIME, .value = time_ns, .has_unit = true };
	return status;
}

/* Replaces words by times, which needs the whole recording. Returns 0 or an exit code. */
static int resolve_words(struct gmt_dump_filter *filter, const char *path)
{
	struct gmt_recording *recording = NULL;
	struct gmt_traces traces = { 0 };
	struct gmt_timeline timeline = { 0 };
	const struct gmt_traces_options options = { .symbols_cache = gmt_symbols_cache_open() };
	struct gmt_error error = { 0 };
	int code = gmt_input_load(path, &recording);

	if (!code &&
		(gmt_traces_compute(&traces, recording, &options, &error) ||
			gmt_timeline_compute(&timeline, recording, &traces, &error) ||
			to_time(&filter->from_option, recording, &traces, &timeline, &error) ||
			to_time(&filter->until_option, recording, &traces, &timeline, &error)))
		code = gmt_message_failure(&error);
	gmt_timeline_fini(&timeline);
	gmt_traces_fini(&traces);
	gmt_recording_free(recording);
	gmt_symbols_cache_close(options.symbols_cache);
	return code;
}

int gmt_dump_filter_init(struct gmt_dump_filter *filter, const char *path)
{
	int code = 0;
	struct stat status;

	if (gmt_dump_filter_has_times(filter)) {
		if ((code = gmt_standard_input_keep(path)))
			return code;
		if (!gmt_standard_input_is(path) && !stat(path, &status) && !S_ISREG(status.st_mode) &&
			!S_ISDIR(status.st_mode)) {
			gmt_message_error("dump: %s must be a file or `-`, because --from and --until read it "
							  "twice",
				path);
			return GMT_EXIT_USAGE;
		}
	}
	if ((is_word(&filter->from_option) || is_word(&filter->until_option)) &&
		(code = resolve_words(filter, path)))
		return code;
	if (!filter->reads_all && !gmt_standard_input_is(path) &&
		!gmt_dump_members_find(path, &filter->members))
		return gmt_status_exit_code(GMT_NO_MEMORY);
	if (gmt_dump_filter_has_times(filter))
		code = gmt_dump_members_read_clocks(filter, path);
	gmt_dump_filter_set_times(filter);
	gmt_dump_members_leave_out(filter);
	return code;
}

void gmt_dump_filter_fini(struct gmt_dump_filter *filter)
{
	gmt_vec_fini(&filter->clocks.clocks);
	gmt_members_fini(&filter->members);
}

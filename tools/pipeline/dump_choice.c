/* SPDX-License-Identifier: MIT */
#include "tools/output/exit_codes.h"
#include "tools/pipeline/dump_choice.h"

#include <sys/stat.h>

#include "reader/load/clock.h"
#include "reader/replay/replay.h"
#include "tools/pipeline/dump_skip.h"
#include "tools/pipeline/resolve_moment.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/message.h"

static bool is_word(const struct gmt_moment *moment)
{
	return moment->kind != GMT_MOMENT_NOT_GIVEN && moment->kind != GMT_MOMENT_TIME;
}

/* Replaces a moment of the recording by its time. */
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

/* Finds the times of moments that only the events of the recording tell. Returns an exit code. */
static int resolve_words(struct gmt_dump_choice *choice, const char *path)
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
			to_time(&choice->from_option, recording, &traces, &timeline, &error) ||
			to_time(&choice->until_option, recording, &traces, &timeline, &error)))
		code = gmt_message_failure(&error);
	gmt_timeline_fini(&timeline);
	gmt_traces_fini(&traces);
	gmt_recording_free(recording);
	gmt_symbols_cache_close(options.symbols_cache);
	return code;
}

int gmt_dump_choice_init(struct gmt_dump_choice *choice, const char *path)
{
	int code = 0;
	struct stat status;

	if (gmt_dump_choice_has_times(choice)) {
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
	if ((is_word(&choice->from_option) || is_word(&choice->until_option)) &&
		(code = resolve_words(choice, path)))
		return code;
	if (!choice->needs_all && !gmt_standard_input_is(path) &&
		!gmt_dump_skip_find_parts(path, &choice->members))
		return gmt_status_exit_code(GMT_NO_MEMORY);
	if (gmt_dump_choice_has_times(choice))
		code = gmt_dump_skip_read_clocks(choice, path);
	gmt_dump_choice_set_times(choice);
	gmt_dump_skip_mark_parts(choice);
	return code;
}

void gmt_dump_choice_fini(struct gmt_dump_choice *choice)
{
	gmt_vec_fini(&choice->clocks.clocks);
	gmt_members_fini(&choice->members);
}

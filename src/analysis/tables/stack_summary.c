/* SPDX-License-Identifier: MIT */
#include "analysis/tables/stack_summary.h"

#include <string.h>

enum run { RUN_OWN, RUN_PACKAGE, RUN_NATIVE, RUN_START };

/*
 * Returns whether a frame is the start of a C program or of a thread. Such a frame has no
 * information.
 */
static bool is_start(const char *function)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_call_main",
		"clone",
		"__clone",
		"__GI___clone",
		"start_thread",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(function, names[i], strlen(names[i])) == 0 && !strchr(function, '('))
			return true;
	return false;
}

static enum run run_of(const struct gmt_traces *traces, const struct gmt_place *place)
{
	if (place->kind == GMT_PLACE_PYTHON)
		return gmt_traces_is_own_file(gmt_traces_string(traces, place->file)) ? RUN_OWN
																			  : RUN_PACKAGE;
	if (is_start(gmt_traces_string(traces, place->function)))
		return RUN_START;
	return gmt_traces_is_own_native(traces, place) ? RUN_OWN : RUN_NATIVE;
}

/*
 * Returns the weight of a frame in a run of native frames. The frame with the largest weight stands
 * for the run; of equal frames, the outermost. PyTorch enters its operators through
 * at::_ops::NAME::call, so the outermost of these is what the program called. In threads of a
 * backward pass, it is the step of that pass.
 */
static unsigned weight(const struct gmt_traces *traces, const struct gmt_place *place)
{
	const char *function = gmt_traces_string(traces, place->function);

	if (strncmp(function, "torch::autograd::generated::", 28) == 0 && strstr(function, "::apply"))
		return 2;
	return strncmp(function, "at::_ops::", 10) == 0;
}

static bool add_line(struct gmt_stack_summary *summary, uint32_t index, uint32_t hidden)
{
	struct gmt_stack_summary_line *line = gmt_vec_push(&summary->lines);

	if (line)
		*line = (struct gmt_stack_summary_line){ index, hidden };
	return line;
}

/*
 * Returns the index after the run that begins at `start`. *ret_shown is the frame that stands for
 * it.
 */
static uint32_t measure_run(const struct gmt_traces *traces, const uint32_t *places, uint32_t count,
	uint32_t start, enum run run, uint32_t *ret_shown)
{
	unsigned heaviest = 0;
	uint32_t end = start;

	*ret_shown = start;
	for (; end < count; end++) {
		const struct gmt_place *place = gmt_traces_place(traces, places[end]);

		if (run_of(traces, place) != run)
			break;
		if (run == RUN_NATIVE && weight(traces, place) >= heaviest) {
			heaviest = weight(traces, place);
			*ret_shown = end;
		}
	}
	return end;
}

bool gmt_stack_summary_make(struct gmt_stack_summary *summary, const struct gmt_traces *traces,
	uint32_t stack)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	summary->lines.count = 0;
	for (uint32_t at = 0, end; at < count; at = end) {
		enum run run = run_of(traces, gmt_traces_place(traces, places[at]));
		uint32_t shown = at;

		end = run == RUN_PACKAGE || run == RUN_NATIVE
			? measure_run(traces, places, count, at, run, &shown)
			: at + 1;
		if (run != RUN_START && !add_line(summary, shown, end - at - 1))
			return false;
	}
	return true;
}

void gmt_stack_summary_fini(struct gmt_stack_summary *summary)
{
	gmt_vec_fini(&summary->lines);
}

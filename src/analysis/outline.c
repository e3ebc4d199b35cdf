/* SPDX-License-Identifier: MIT */
#include "analysis/outline.h"

#include <string.h>

enum run { RUN_OWN, RUN_PACKAGE, RUN_NATIVE, RUN_START };

/* How every C program and every thread begins: says nothing. */
static bool is_start(const char *function)
{
	static const char *const names[] = {
		"_start", "__libc_start_main", "__libc_start_call_main", "clone", "clone3", "__clone3",
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
		return gmt_traces_is_own_file(gmt_traces_string(traces, place->file)) ? RUN_OWN : RUN_PACKAGE;
	return is_start(gmt_traces_string(traces, place->function)) ? RUN_START : RUN_NATIVE;
}

/*
 * Which frame of a native run to show. PyTorch's operators are entered through at::_ops::NAME::call:
 * the innermost of them says which operator asked for the memory. Else the frame nearest to Python,
 * or, in a stack without Python, each frame by itself.
 */
static bool is_operator(const struct gmt_traces *traces, const struct gmt_place *place)
{
	return strncmp(gmt_traces_string(traces, place->function), "at::_ops::", 10) == 0;
}

static bool add_line(struct gmt_outline *outline, uint32_t place, uint32_t hidden)
{
	struct gmt_outline_line *line = gmt_vec_push(&outline->lines);

	if (line)
		*line = (struct gmt_outline_line){ place, hidden };
	return line;
}

/* The number of frames from `start` on that are one run; *ret_shown is the one to show. */
static uint32_t measure_run(const struct gmt_traces *traces, const uint32_t *places, uint32_t count,
	uint32_t start, enum run run, uint32_t *ret_shown)
{
	bool has_operator = false;
	uint32_t end = start;

	*ret_shown = start;
	for (; end < count; end++) {
		const struct gmt_place *place = gmt_traces_place(traces, places[end]);

		if (run_of(traces, place) != run)
			break;
		if (run == RUN_NATIVE && !has_operator) {
			*ret_shown = end;
			has_operator = is_operator(traces, place);
		}
	}
	return end - start;
}

static bool has_python(const struct gmt_traces *traces, const uint32_t *places, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (gmt_traces_place(traces, places[i])->kind == GMT_PLACE_PYTHON)
			return true;
	return false;
}

bool gmt_outline_make(struct gmt_outline *outline, const struct gmt_traces *traces, uint32_t stack)
{
	uint32_t count, shown;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	bool mixed = has_python(traces, places, count);

	outline->lines.count = 0;
	for (uint32_t at = 0; at < count;) {
		enum run run = run_of(traces, gmt_traces_place(traces, places[at]));
		uint32_t length = 1;

		shown = at;
		if (run == RUN_PACKAGE || (run == RUN_NATIVE && mixed))
			length = measure_run(traces, places, count, at, run, &shown);
		if (run != RUN_START && !add_line(outline, places[shown], length - 1))
			return false;
		at += length;
	}
	return true;
}

void gmt_outline_fini(struct gmt_outline *outline)
{
	gmt_vec_fini(&outline->lines);
}

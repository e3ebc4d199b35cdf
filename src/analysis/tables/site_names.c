/* SPDX-License-Identifier: MIT */
#include "analysis/tables/site_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/history/categories.h"
#include "analysis/tables/stack_names.h"
#include "base/text.h"

/* Writes "step (train.py:31)", or "step (train.py)" for a function. "" if there is no stack. */
static void name_of_place(const struct gmt_traces *traces, uint32_t stack, bool has_line,
	char *ret_name, size_t size)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	*ret_name = '\0';
	if (!count)
		return;

	const struct gmt_place *place =
		gmt_traces_place(traces, places[gmt_traces_own_line(traces, stack)]);
	const char *function = gmt_traces_string(traces, place->function);
	const char *file = gmt_traces_string(traces, place->file);
	const char *slash = strrchr(file, '/');
	char where[96] = "", line[16] = "";

	if (has_line && place->line)
		snprintf(line, sizeof(line), ":%" PRIu32, place->line);
	if (*file)
		snprintf(where, sizeof(where), " (%.*s%s)", (int)(sizeof(where) - sizeof(line) - 4),
			slash ? slash + 1 : file, line);
	snprintf(ret_name, size, "%.*s%s",
		(int)gmt_text_cut_length(function, strlen(function), size - strlen(where) - 1), function,
		where);
}

void gmt_site_group_name(enum gmt_table_grouping key, const struct gmt_traces *traces,
	const struct gmt_replay *replay, const struct gmt_history *history, uint32_t site,
	char *ret_name, size_t size)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	const struct gmt_account *account =
		&accounting->accounts.items[accounting->sites.items[site].account];
	uint32_t stack = replay->site_stacks.items[site];

	*ret_name = '\0';
	switch (key) {
	case GMT_TABLE_LINE:
	case GMT_TABLE_FUNCTION:
		name_of_place(traces, stack, key == GMT_TABLE_LINE, ret_name, size);
		break;
	case GMT_TABLE_OPERATOR:
		gmt_stack_operator(traces, stack, ret_name, size);
		break;
	case GMT_TABLE_MODULE:
		gmt_stack_module(traces, stack, ret_name, size);
		break;
	case GMT_TABLE_LIBRARY:
		gmt_stack_library(traces, stack, ret_name, size);
		break;
	case GMT_TABLE_OWNER:
		gmt_text_copy(ret_name, size,
			gmt_owners_name(&traces->owners,
				gmt_owners_find(&traces->owners, stack, account->layer, account->device)));
		break;
	case GMT_TABLE_CATEGORY:
		gmt_text_copy(ret_name, size,
			gmt_category_name(gmt_category_of(replay, traces, history, site)));
		break;
	case GMT_TABLE_PART:
		gmt_text_copy(ret_name, size,
			gmt_part_name(gmt_part_of(traces->stack_frame_kinds.items[stack])));
		break;
	default:
		break;
	}
	if (!*ret_name)
		snprintf(ret_name, size, "(%s)", gmt_table_key_none(key));
}

void gmt_step_group_name(const struct gmt_timeline *timeline, uint32_t series, uint32_t step,
	char *ret_name, size_t size)
{
	if (series >= GMT_TIMELINE_SERIES)
		snprintf(ret_name, size, "(%s)", gmt_table_key_none(GMT_TABLE_STEP));
	else
		snprintf(ret_name, size, "step %" PRIu32 "%s", step,
			timeline->series[series].source == GMT_STEPS_MODULE_CALLS ? " (a forward call)" : "");
}

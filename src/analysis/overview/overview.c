/* SPDX-License-Identifier: MIT */
#include "analysis/overview/overview.h"

#include <string.h>

#include "analysis/tables/stack_names.h"
#include "base/text.h"
#include "reader/load/clock.h"

/* A curve by step says something from this number of steps on. */
enum { MIN_STEPS = 8 };

/*
 * Returns whether the user asks about account `a` rather than `b`: first memory of a device, then
 * PyTorch's blocks, which are a part of the memory of layer cuda, then the higher peak.
 */
static bool comes_before(const struct gmt_account *a, const struct gmt_account *b)
{
	bool on_device = a->device != GMT_DEVICE_HOST, b_on_device = b->device != GMT_DEVICE_HOST;

	if (on_device != b_on_device)
		return on_device;
	if (a->layer != b->layer && (a->layer == GMT_LAYER_TORCH || b->layer == GMT_LAYER_TORCH))
		return a->layer == GMT_LAYER_TORCH;
	return a->peak_bytes > b->peak_bytes;
}

const struct gmt_account *gmt_overview_find_account(const struct gmt_accounting *accounting)
{
	const struct gmt_account *best = NULL;

	for (size_t i = 0; i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];

		if (account->peak_bytes && gmt_layer_can_leak(account->layer) &&
			(!best || comes_before(account, best)))
			best = account;
	}
	return best;
}

static uint32_t place_plus_1_of(const struct gmt_traces *traces, const struct gmt_site *site)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, site->stack, &count);

	return count ? places[site->own_line] + 1 : 0;
}

/* Writes the operator of the stack that held most of the line at the peak. */
static void name_operator(const struct gmt_overview_input *input, const struct gmt_account *account,
	struct gmt_overview_line *line)
{
	const struct gmt_site *largest = NULL;
	char name[sizeof(line->operator) + sizeof("aten::")];

	for (size_t i = 0; i < input->sites->rows.count; i++) {
		const struct gmt_site *site = &input->sites->rows.items[i];

		if (site->layer == account->layer && site->device == account->device &&
			(!largest || site->peak_bytes > largest->peak_bytes) &&
			place_plus_1_of(input->traces, site) == line->place_plus_1)
			largest = site;
	}
	if (!largest)
		return;
	gmt_stack_operator(input->traces, largest->stack, name, sizeof(name));

	const char *rest = strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
	gmt_text_copy(line->operator, sizeof(line->operator), rest);
}

static enum gmt_status find_lines(struct gmt_overview *overview,
	const struct gmt_overview_input *input, struct gmt_error *error)
{
	struct gmt_table table = { 0 };
	const struct gmt_table_input table_input = {
		.traces = input->traces,
		.replay = input->replay,
		.history = input->history,
		.sites = input->sites,
		.allocator_state = input->allocator_state,
	};
	const struct gmt_account *account = overview->account;
	enum gmt_status status =
		gmt_table_compute(&table, GMT_TABLE_LINE, &table_input, GMT_SITES_BY_PEAK, error);

	if (!status) {
		size_t count;
		const struct gmt_table_row *row =
			gmt_table_rows_of(&table, account->layer, account->device, &count);

		for (size_t i = 0; i < count && i < GMT_OVERVIEW_LINES && row[i].peak_bytes; i++) {
			struct gmt_overview_line *line = &overview->lines[overview->line_count++];

			line->place_plus_1 = row[i].place_plus_1;
			line->bytes = row[i].peak_bytes;
			line->blocks = row[i].peak_blocks;
			name_operator(input, account, line);
		}
	}
	gmt_table_fini(&table);
	return status;
}

static void find_moment(struct gmt_overview *overview, const struct gmt_overview_input *input,
	const struct gmt_curve *curve)
{
	const struct gmt_timeline *timeline = input->timeline;
	uint64_t stamp = overview->account->peak_stamp;

	overview->peak_time_ns = gmt_clock_time_ns(input->recording, stamp);
	overview->has_step =
		timeline->series_count && gmt_series_find(&timeline->series[0], stamp, &overview->step);

	const struct gmt_phase *phase = gmt_timeline_phase(timeline, stamp, false);
	overview->phase = phase ? phase->name : NULL;
	if (!curve || !curve->peak_trace_plus_1 || curve->peak_number != overview->account->peak_number)
		return;
	overview->part = gmt_part_of(input->traces->stack_frame_kinds
			.items[input->traces->stack_of_trace[curve->peak_trace_plus_1 - 1]]);
	overview->has_part = overview->part != GMT_PART_OTHER;
}

static void draw_curve(struct gmt_overview *overview, const struct gmt_overview_input *input,
	size_t account, const struct gmt_curve *curve)
{
	const struct gmt_history_series *series = &input->history->series[0];
	size_t steps = input->timeline->series_count ? series->step_count : 0;

	if (steps >= MIN_STEPS) {
		size_t points = steps < GMT_OVERVIEW_CURVE ? steps : GMT_OVERVIEW_CURVE;

		overview->is_curve_by_step = true;
		overview->curve_count = points;
		for (size_t step = 0; step < steps; step++) {
			uint64_t peak = gmt_history_step_of(series, step, account).peak_bytes;
			uint64_t *point = &overview->curve[step * points / steps];

			*point = peak > *point ? peak : *point;
		}
	} else if (curve) {
		overview->curve_count =
			gmt_curve_draw(curve->max_bytes, curve->count, overview->curve, GMT_OVERVIEW_CURVE);
	}
}

enum gmt_status gmt_overview_compute(struct gmt_overview *ret_overview,
	const struct gmt_overview_input *input, struct gmt_error *error)
{
	const struct gmt_accounting *accounting = &input->replay->accounting;
	const struct gmt_account *account = gmt_overview_find_account(accounting);

	if (!account)
		return GMT_OK;

	size_t id = (size_t)(account - accounting->accounts.items);
	const struct gmt_curve *curve = id < GMT_CURVE_ACCOUNTS ? &input->curves->accounts[id] : NULL;
	ret_overview->account = account;
	if (ret_overview->account->device >= 0)
		ret_overview->device =
			gmt_recording_device(input->recording, (uint32_t)ret_overview->account->device);
	find_moment(ret_overview, input, curve);
	draw_curve(ret_overview, input, id, curve);
	return find_lines(ret_overview, input, error);
}

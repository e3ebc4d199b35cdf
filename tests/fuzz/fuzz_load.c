/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the code behind `report`, `leaks`, `info`, `check` and `diff`. For every input: the code
 * does not crash, the sites sum to their accounts, JSON is valid, and the output has no characters
 * that are unsafe for a terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/diff.h"
#include "analysis/gate/gate.h"
#include "base/budget.h"
#include "containers/map.h"
#include "content.h"
#include "output.h"
#include "render/check.h"
#include "render/diff.h"
#include "render/info.h"
#include "render/report.h"
#include "tools/recordings/load_input.h"
#include "tools/pipeline/pipeline.h"
#include "tools/output/message.h"
#include "tools/pipeline/allocator_state_results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* These replace functions of the tool that print messages. */
int gmt_input_load(const char *path, struct gmt_recording **ret_recording)
{
	return gmt_recording_load(path, NULL, ret_recording, NULL) ? 1 : 0;
}

int gmt_message_failure(const struct gmt_error *error)
{
	(void)error;
	abort();
}

static void check_sums(const struct gmt_accounting *accounting)
{
	for (size_t a = 0; a < accounting->accounts.count; a++) {
		const struct gmt_account *account = &accounting->accounts.items[a];
		uint64_t live = 0, peak = 0;

		for (uint32_t s = 0; s < accounting->sites.count; s++)
			if (accounting->sites.items[s].account == a) {
				live += accounting->sites.items[s].live_bytes;
				peak += gmt_account_site_peak(accounting, s).bytes;
			}
		if (live != account->live_bytes || peak != account->peak_bytes)
			abort();
	}
}

/*
 * The rows of every table must sum to the peak. One exception: if the peak is in a compacted part
 * of the recording, the steps and phases of its blocks are unknown.
 */
static void check_peaks(const struct gmt_allocator_state_view *view)
{
	const struct gmt_accounting *accounting = &view->replay->accounting;

	for (size_t a = 0; a < accounting->accounts.count && a < GMT_ALLOCATOR_STATE_MAX_ACCOUNTS; a++)
		for (size_t i = 0; i < GMT_PEAK_TABLES; i++) {
			const struct gmt_account *account = &accounting->accounts.items[a];
			uint64_t bytes = 0;
			size_t count;
			const struct gmt_table_row *row =
				gmt_table_rows_of(&view->peaks[i], account->layer, account->device, &count);

			for (; count; count--)
				bytes += row++->peak_bytes;
			if (bytes != account->peak_bytes &&
				(bytes || !view->recording->compacted.exists ||
					(view->peaks[i].key != GMT_TABLE_PHASE &&
						view->peaks[i].key != GMT_TABLE_STEP)))
				abort();
		}
}

/* Makes and renders the table of memory by one key. */
static void where(const struct gmt_pipeline *parts, int by)
{
	struct gmt_json json = { .file = fuzz_output(FUZZ_JSON) };
	struct gmt_allocator_state_results made = { 0 };

	if (gmt_allocator_state_results_compute(&made, parts, by, GMT_SITES_BY_TOTAL, NULL))
		abort();
	check_peaks(&made.view);
	gmt_json_begin_object(&json);
	gmt_allocator_state_json(&made.view, &json);
	gmt_json_end_object(&json);
	fuzz_output_end(FUZZ_JSON);
	for (enum gmt_allocator_state_section section = GMT_ALLOCATOR_STATE_PEAK;
		section <= GMT_ALLOCATOR_STATE_TABLE; section++) {
		gmt_allocator_state_text(&made.view, section, true, fuzz_output(FUZZ_TEXT));
		gmt_allocator_state_text(&made.view, section, false, fuzz_output(FUZZ_TEXT));
	}
	fuzz_output_end(FUZZ_TEXT);
	gmt_allocator_state_results_fini(&made);
}

static void render(struct gmt_pipeline *parts, const struct gmt_allocator_state_results *made)
{
	struct gmt_leaks_view leaks = {
		.recording = parts->recording,
		.traces = &parts->traces,
		.replay = &parts->replay,
		.timeline = &parts->timeline,
		.history = &parts->history,
		.leaks = &parts->leaks,
		.limit = UINT64_MAX,
		.frames = 6,
	};
	struct gmt_report whole = {
		.recording = parts->recording,
		.traces = &parts->traces,
		.replay = &parts->replay,
		.summary = &parts->summary,
		.sites = &parts->sites,
		.warnings = &parts->warnings,
		.ooms = &parts->ooms,
		.ledger = &parts->ledger,
		.heaps = &parts->heaps,
		.allocator_state = &made->view,
		.leaks = &leaks,
		.limit = UINT64_MAX,
		.frames = 6,
		.all_lists = true,
		.overview = &parts->overview,
		.sections = UINT64_MAX,
		.columns = 80,
		.is_utf8 = true,
	};
	struct gmt_json json = { .file = fuzz_output(FUZZ_JSON), .pretty = true, .inline_depth = 2 };

	gmt_report_json(&whole, &json);
	gmt_report_text(&whole, fuzz_output(FUZZ_TEXT));
	fuzz_output_end(FUZZ_JSON);
	fuzz_output_end(FUZZ_TEXT);
}

static void inform(struct gmt_recording *recording, const struct gmt_warnings *warnings)
{
	struct gmt_event_counts event_counts = { 0 };
	struct gmt_function_coverage coverage = { 0 };
	struct gmt_info info = {
		.recording = recording, .event_counts = &event_counts, .warnings = warnings
	};

	if (gmt_event_counts_compute(&event_counts, recording, NULL) ||
		gmt_function_coverage_compute(&coverage, recording, NULL))
		abort();
	for (int with_coverage = 0; with_coverage < 2; with_coverage++) {
		struct gmt_json json = {
			.file = fuzz_output(FUZZ_JSON), .pretty = true, .inline_depth = 2
		};

		info.coverage = with_coverage ? &coverage : NULL;
		gmt_info_json(&info, &json);
		gmt_info_text(&info, fuzz_output(FUZZ_TEXT));
		fuzz_output_end(FUZZ_JSON);
		fuzz_output_end(FUZZ_TEXT);
	}
	gmt_function_coverage_fini(&coverage);
	gmt_event_counts_fini(&event_counts);
}

static void render_verdict(const struct gmt_check_report *check)
{
	struct gmt_json json = { .file = fuzz_output(FUZZ_JSON), .pretty = true, .inline_depth = 3 };
	struct gmt_json sarif = { .file = fuzz_output(FUZZ_JSON), .pretty = true, .inline_depth = 12 };

	gmt_check_text(check, fuzz_output(FUZZ_TEXT));
	gmt_check_annotations(check, fuzz_output(FUZZ_TEXT));
	gmt_check_summary(check, fuzz_output(FUZZ_TEXT));
	gmt_check_suppressions(check, fuzz_output(FUZZ_TEXT));
	gmt_check_junit(check, fuzz_output(FUZZ_XML));
	gmt_check_json(check, &json);
	fuzz_output_end(FUZZ_JSON);
	gmt_check_sarif(check, &sarif);
	fuzz_output_end(FUZZ_TEXT);
	fuzz_output_end(FUZZ_XML);
	fuzz_output_end(FUZZ_JSON);
}

/* Judges twice: the first round makes a baseline, the second compares with it. */
static void judge(struct gmt_pipeline *parts)
{
	static const char *const roots[] = { "/home/me", NULL };
	struct gmt_limits limits = gmt_limits_default();
	struct gmt_suppressions suppressions = { 0 };
	struct gmt_baseline baseline = { 0 };
	struct gmt_site_keys keys = { 0 };
	struct gmt_gate_input input = {
		.recording = parts->recording,
		.traces = &parts->traces,
		.replay = &parts->replay,
		.timeline = &parts->timeline,
		.history = &parts->history,
		.leaks = &parts->leaks,
		.ooms = &parts->ooms,
		.warnings = &parts->warnings,
		.keys = &keys,
		.sites = &parts->sites,
	};

	if (gmt_suppressions_add_defaults(&suppressions, NULL) ||
		gmt_site_keys_compute(&keys, parts->recording, &parts->traces, NULL))
		abort();
	for (int round = 0; round < 2; round++) {
		struct gmt_verdict verdict = { 0 };
		struct gmt_gate gate = {
			.limits = &limits,
			.suppressions = &suppressions,
			.baseline = round ? &baseline : NULL,
			.new_baseline = round ? NULL : &baseline,
		};
		struct gmt_check_report check = {
			.verdict = &verdict,
			.suppressions = &suppressions,
			.roots = roots,
			.frames = 8,
		};

		if (gmt_gate_judge(&verdict, &gate, &input, NULL))
			abort();
		gmt_baseline_sort(&baseline, GMT_BASELINE_LARGEST);
		if (round)
			gmt_gate_note_missing_layers(&verdict, &baseline);
		gmt_verdict_conclude(&verdict);
		render_verdict(&check);
		gmt_verdict_fini(&verdict);
	}
	gmt_site_keys_fini(&keys);
	gmt_baseline_fini(&baseline);
	gmt_suppressions_fini(&suppressions);
	gmt_limits_fini(&limits);
}

/* Compares the recording until a moment with the whole recording. */
static void compare(const struct gmt_pipeline *before, const struct gmt_pipeline *now, int by)
{
	struct gmt_diff_side sides[] = {
		{ before->recording, &before->traces, &before->replay, &before->sites, &before->warnings,
			&before->history },
		{ now->recording, &now->traces, &now->replay, &now->sites, &now->warnings, &now->history },
	};
	struct gmt_diff_options how = { .by = (enum gmt_diff_grouping)by,
		.key = (enum gmt_sites_order)(by % (GMT_SITES_BY_TOTAL + 1)) };
	struct gmt_diff_style style = { .limit = UINT64_MAX, .frames = 6 };
	struct gmt_json json = { .file = fuzz_output(FUZZ_JSON), .pretty = true, .inline_depth = 5 };
	struct gmt_diff diff = { 0 };

	if (gmt_diff_compute(&diff, &sides[0], &sides[1], &how, NULL) ||
		!gmt_diff_text(&diff, &style, fuzz_output(FUZZ_TEXT)))
		abort();
	gmt_diff_json(&diff, &style, &json);
	fuzz_output_end(FUZZ_JSON);
	fuzz_output_end(FUZZ_TEXT);
	gmt_diff_fini(&diff);
}

static const struct gmt_leaks_options every_definition = {
	.definitions = (UINT32_C(1) << GMT_LEAK_DEFINITIONS) - 1,
	.age_steps = 1,
	.with_libraries = true,
};

/* Actions on a loaded recording. */
enum { REPORT, WHERE, INFORM, JUDGE, ACTS };

static void act(struct gmt_pipeline *parts, int what, int by)
{
	struct gmt_allocator_state_results made = { 0 };

	switch (what) {
	case REPORT:
		if (gmt_allocator_state_results_compute(&made, parts, -1, GMT_SITES_BY_PEAK, NULL))
			abort();
		render(parts, &made);
		gmt_allocator_state_results_fini(&made);
		break;
	case WHERE:
		where(parts, by);
		break;
	case INFORM:
		inform(parts->recording, &parts->warnings);
		break;
	case JUDGE:
		judge(parts);
		break;
	}
}

/* Reads the rules only once: reading is not tested here, and took as long as the rest. */
static const struct gmt_owner_rules *owner_rules(void)
{
	static struct gmt_owner_rules rules;

	if (!rules.rows.count && gmt_owner_rules_add_defaults(&rules, NULL))
		abort();
	return &rules;
}

/*
 * Loads the file and runs the action `what`, or all of them for ACTS. Returns false if the file is
 * not readable. The caller ends `ret_parts` in any case.
 */
static bool report(const char *path, uint64_t until, enum gmt_traces_native native,
	const struct gmt_leaks_options *leaks, int what, int by, struct gmt_pipeline *ret_parts)
{
	struct gmt_pipeline_options options = {
		.traces = { .native = native, .owner_rules = owner_rules() },
		.until = { until == UINT64_MAX ? GMT_MOMENT_NOT_GIVEN : GMT_MOMENT_TIME, until },
		.leaks = *leaks,
		.wants_report_details = true,
	};

	if (gmt_pipeline_load(path, &options, ret_parts))
		return false;
	check_sums(&ret_parts->replay.accounting);
	/* JSON must be valid wherever the budget for output ends. */
	if (by == 0 && !fuzz_is_thorough)
		gmt_budget.output_bytes = gmt_hash_u64(ret_parts->replay.events + until) % 20000;
	for (int i = 0; i < ACTS; i++)
		if (what == ACTS || what == i)
			act(ret_parts, i, by);
	return true;
}

/*
 * Runs one variant of each for an input, chosen by its hash. All variants would take much longer,
 * and the next input is nearly the same. In main.c a kept input goes through all of them.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_pipeline whole = { 0 }, half = { 0 };
	uint8_t *content = fuzz_copy(data, size);
	uint64_t choice;
	char path[FUZZ_PATH_BYTES];

	fuzz_store(0, content, size, path);
	choice = gmt_hash_bytes(content, size);
	free(content);
	if (report(path, UINT64_MAX, GMT_TRACES_TRIMMED, &gmt_pipeline_default_leaks,
			fuzz_is_thorough ? ACTS : (int)(choice >> 8 & 3), (int)(choice % GMT_TABLE_KEYS),
			&whole) &&
		(fuzz_is_thorough || (choice >> 32 & 7) == 0) &&
		report(path, gmt_recording_duration_ns(whole.recording) / 2, GMT_TRACES_ALL,
			&every_definition, fuzz_is_thorough ? ACTS : (int)(choice >> 12 & 3),
			(int)((choice >> 16) % GMT_TABLE_KEYS), &half))
		compare(&half, &whole, (int)((choice >> 40) % (GMT_DIFF_BY_PART + 1)));
	gmt_pipeline_fini(&half);
	gmt_pipeline_fini(&whole);
	return 0;
}

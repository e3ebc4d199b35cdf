/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate_judge.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/compare/site_key_names.h"
#include "base/text.h"

/*
 * Regressions. A check fails for the peak of a layer, for what it retains, and for the growth of
 * one line. These are the same in each run of the same program. What each line held at the peak
 * varies if two moments are near the peak, so it is shown only as evidence.
 */

enum {
	CHANGES_SHOWN = 5,
	/* Most pairs of rows that are compared by the names of their files. A hostile file has more. */
	MAX_PAIRS = 10000000,
};

/* Returns what the layer held at the end of the program's work. */
static uint64_t retained_bytes(const struct gmt_judge *judge, size_t account)
{
	return gmt_replay_end_account(judge->input->replay, account).live_bytes;
}

/*
 * Returns the key of a stack. The key of an empty stack is "?", because "" means the whole layer.
 */
static const char *key_of(const struct gmt_judge *judge, uint32_t stack)
{
	const char *group = gmt_site_keys_stack(judge->input->keys, stack)->group;

	return *group ? group : "?";
}

static bool collect_sites(const struct gmt_judge *judge, const struct gmt_account *account,
	int32_t rank, struct gmt_baseline *found)
{
	size_t count;
	const struct gmt_site *sites = gmt_sites_of_account(judge->input->sites, account->layer,
		account->device, GMT_SITES_BY_PEAK, &count);
	bool done = true;

	for (size_t i = 0; done && i < count; i++) {
		struct gmt_baseline_row row = {
			.rank = rank,
			.layer = account->layer,
			.device = account->device,
			.key = key_of(judge, sites[i].stack),
			.peak_bytes = sites[i].peak_bytes,
		};

		done = !row.peak_bytes || gmt_baseline_add(found, &row);
	}
	return done;
}

static bool add_retained(const struct gmt_judge *judge, int32_t rank, struct gmt_baseline *found,
	uint32_t id, uint64_t bytes)
{
	const struct gmt_replay *replay = judge->input->replay;
	const struct gmt_account_site *site = &replay->accounting.sites.items[id];
	const struct gmt_account *account = &replay->accounting.accounts.items[site->account];
	struct gmt_baseline_row row = {
		.rank = rank,
		.layer = account->layer,
		.device = account->device,
		.key = key_of(judge, replay->site_stacks.items[id]),
		.retained_bytes = bytes,
	};

	return !bytes || !gmt_layer_can_leak(account->layer) || gmt_baseline_add(found, &row);
}

static bool collect_retained(const struct gmt_judge *judge, int32_t rank,
	struct gmt_baseline *found)
{
	const struct gmt_replay *replay = judge->input->replay;
	bool done = true;

	for (uint32_t i = 0; done && i < replay->accounting.sites.count; i++)
		done = add_retained(judge, rank, found, i, gmt_replay_end_site(replay, i).bytes);
	return done;
}

/* Collects suppressed growth too, because a baseline records what exists. */
static bool collect_growth(const struct gmt_judge *judge, int32_t rank, struct gmt_baseline *found)
{
	const struct gmt_leaks *leaks = judge->input->leaks;
	bool done = true;

	for (size_t i = 0; done && i < leaks->rows.count; i++) {
		const struct gmt_leak *leak = &leaks->rows.items[i];

		/* Unexplained growth has no site, so the next recording could not be compared with it. */
		if (leak->definition != GMT_LEAK_GROWTH)
			continue;
		done = gmt_baseline_add(found,
			&(struct gmt_baseline_row){
				.rank = rank,
				.layer = leak->layer,
				.device = leak->device,
				.key = key_of(judge, leak->stack),
				.growth_bytes = leak->bytes_per_step > 0 ? (uint64_t)leak->bytes_per_step : 0,
			});
	}
	return done;
}

/* Collects what this file holds: layers, and the groups of sites in them. */
static bool collect(const struct gmt_judge *judge, int32_t rank, struct gmt_baseline *found)
{
	const struct gmt_accounting *accounting = &judge->input->replay->accounting;
	bool done = collect_retained(judge, rank, found) && collect_growth(judge, rank, found);

	for (size_t i = 0; done && i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];
		struct gmt_baseline_row row = {
			.rank = rank,
			.layer = account->layer,
			.device = account->device,
			.key = "",
			.peak_bytes = account->peak_bytes,
			.retained_bytes = retained_bytes(judge, i),
		};

		if (account->alloc_count && account->device != GMT_DEVICE_UNKNOWN &&
			gmt_layer_can_leak(account->layer))
			done = gmt_baseline_add(found, &row) && collect_sites(judge, account, rank, found);
	}
	gmt_baseline_sort(found, GMT_BASELINE_SUM);
	return done;
}

/*
 * Returns whether the new baseline keeps a row. Groups below a hundredth of their layer would make
 * the file long and change often.
 */
static bool is_worth_keeping(const struct gmt_baseline *found, const struct gmt_baseline_row *row)
{
	const struct gmt_baseline_row *layer =
		gmt_baseline_find(found, row->rank, row->layer, row->device, "");

	return layer &&
		(!*row->key || row->growth_bytes || row->peak_bytes >= layer->peak_bytes / 100 ||
			row->retained_bytes >= layer->peak_bytes / 100);
}

/* Returns whether two keys name the same function of the same file in two different folders. */
static bool are_namesakes(const char *a, const char *b)
{
	return strcmp(a, b) != 0 &&
		strcmp(gmt_site_key_without_folder(a), gmt_site_key_without_folder(b)) == 0;
}

/*
 * Returns the only row of the same layer that names the same function and file in another folder,
 * and whose key does not occur in `others`. NULL: no row fits, or several rows fit.
 */
static const struct gmt_baseline_row *find_moved(const struct gmt_baseline *baseline,
	const struct gmt_baseline *others, const struct gmt_baseline_row *row)
{
	const struct gmt_baseline_row *moved = NULL;

	for (size_t i = 0; i < baseline->rows.count; i++) {
		const struct gmt_baseline_row *other = &baseline->rows.items[i];

		if (other->rank != row->rank || other->layer != row->layer ||
			other->device != row->device || !are_namesakes(other->key, row->key) ||
			gmt_baseline_find(others, row->rank, row->layer, row->device, other->key))
			continue;
		if (moved)
			return NULL;
		moved = other;
	}
	return moved;
}

/*
 * Returns the baseline's row of a group, even if its file was in another folder then. NULL: there
 * is no such row.
 */
static const struct gmt_baseline_row *find_before(const struct gmt_judge *judge,
	const struct gmt_baseline *found, const struct gmt_baseline_row *row)
{
	const struct gmt_baseline *baseline = judge->gate->baseline;
	const struct gmt_baseline_row *before =
		gmt_baseline_find(baseline, row->rank, row->layer, row->device, row->key);

	if (before || baseline->rows.count * found->rows.count > MAX_PAIRS)
		return before;
	before = find_moved(baseline, found, row);
	/* If two files of this recording may both be the earlier file, neither matches. */
	return before && !find_moved(found, baseline, row) ? before : NULL;
}

struct change {
	const char *key;
	uint64_t before, now;
};

static int largest_first(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	uint64_t a_more = a->now - a->before, b_more = b->now - b->before;

	return a_more != b_more ? (a_more > b_more ? -1 : 1) : strcmp(a->key, b->key);
}

/*
 * Adds the groups that hold more than before to the evidence. `retained` selects retained bytes,
 * otherwise peak bytes.
 */
static void show_changes(const struct gmt_judge *judge, struct gmt_finding *finding,
	const struct gmt_baseline *found, const struct gmt_baseline_row *layer, bool retained)
{
	struct gmt_verdict *verdict = judge->verdict;
	GMT_VEC(struct change) changes = { 0 };

	for (size_t i = 0; i < found->rows.count; i++) {
		const struct gmt_baseline_row *row = &found->rows.items[i], *before;

		if (!*row->key || row->layer != layer->layer || row->device != layer->device)
			continue;
		before = find_before(judge, found, row);
		struct change change = {
			.key = row->key,
			.now = retained ? row->retained_bytes : row->peak_bytes,
			.before = !before ? 0
				: retained    ? before->retained_bytes
							  : before->peak_bytes,
		};
		struct change *slot = change.now > change.before ? gmt_vec_push(&changes) : NULL;
		if (slot)
			*slot = change;
	}
	if (changes.count)
		qsort(changes.items, changes.count, sizeof(*changes.items), largest_first);
	for (size_t i = 0; i < changes.count && i < CHANGES_SHOWN; i++)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "%s more (%s, was %s): %s",
				gmt_text_size(changes.items[i].now - changes.items[i].before).text,
				gmt_text_size(changes.items[i].now).text,
				changes.items[i].before ? gmt_text_size(changes.items[i].before).text
										: "not in the baseline",
				changes.items[i].key));
	if (changes.count)
		finding->key = gmt_verdict_line(verdict, "%s", changes.items[0].key);
	gmt_vec_fini(&changes);
}

/*
 * Sets the stack that stands for the group: the line that grows, or else the group's largest site.
 */
static void set_stack(const struct gmt_judge *judge, struct gmt_finding *finding,
	const struct gmt_baseline_row *layer, bool grows)
{
	const struct gmt_gate_input *input = judge->input;
	const char *key = finding->key;
	size_t count;
	const struct gmt_site *sites =
		gmt_sites_of_account(input->sites, layer->layer, layer->device, GMT_SITES_BY_PEAK, &count);

	for (size_t i = 0; grows && i < input->leaks->rows.count; i++) {
		const struct gmt_leak *leak = &input->leaks->rows.items[i];

		if (leak->definition == GMT_LEAK_GROWTH && leak->layer == layer->layer &&
			leak->device == layer->device && strcmp(key_of(judge, leak->stack), key) == 0) {
			gmt_verdict_set_stack(judge->verdict, finding, input->recording, input->traces,
				input->keys, leak->stack, leak->own_line);
			return;
		}
	}
	for (size_t i = 0; i < count && *key; i++)
		if (strcmp(key_of(judge, sites[i].stack), key) == 0) {
			gmt_verdict_set_stack(judge->verdict, finding, input->recording, input->traces,
				input->keys, sites[i].stack, sites[i].own_line);
			return;
		}
}

struct comparison {
	const char *name;
	uint64_t before, now, slack;
};

static bool exceeds(const struct comparison *comparison)
{
	return comparison->now > comparison->before + comparison->slack;
}

static void report(const struct gmt_judge *judge, uint32_t check, const struct gmt_baseline *found,
	const struct gmt_baseline_row *layer, const struct comparison *comparison, bool retained)
{
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_finding *finding;

	if (!exceeds(comparison))
		return;
	finding = gmt_verdict_add_finding(verdict, check);
	if (!finding)
		return;
	finding->bytes = comparison->now - comparison->before;
	finding->title = gmt_verdict_line(verdict, "%s is %s, which is %s more than %s in the baseline",
		comparison->name, gmt_text_size(comparison->now).text,
		gmt_text_size(comparison->now - comparison->before).text,
		gmt_text_size(comparison->before).text);
	show_changes(judge, finding, found, layer, retained);
	set_stack(judge, finding, layer, false);
}

/*
 * Judges the growth of each group. Returns how many groups grow faster than in the baseline. With
 * `adds_findings`, adds a finding for each.
 */
static unsigned judge_growth(const struct gmt_judge *judge, uint32_t check,
	const struct gmt_baseline *found, const struct gmt_baseline_row *layer, bool adds_findings)
{
	double factor = 1 + judge->gate->limits->tolerance;
	unsigned count = 0;

	for (size_t i = 0; i < found->rows.count; i++) {
		const struct gmt_baseline_row *row = &found->rows.items[i], *before;
		struct gmt_finding *finding;

		if (!*row->key || row->layer != layer->layer || row->device != layer->device)
			continue;
		before = find_before(judge, found, row);
		if ((double)row->growth_bytes <= (before ? (double)before->growth_bytes : 0) * factor)
			continue;
		count++;
		finding = adds_findings ? gmt_verdict_add_finding(judge->verdict, check) : NULL;
		if (!finding)
			continue;
		finding->bytes_per_step = (double)row->growth_bytes;
		finding->key = gmt_verdict_line(judge->verdict, "%s", row->key);
		finding->title = gmt_verdict_line(judge->verdict,
			"grows by %s a step; the baseline has %s: %s", gmt_text_size(row->growth_bytes).text,
			gmt_text_size(before ? before->growth_bytes : 0).text, row->key);
		set_stack(judge, finding, layer, true);
	}
	return count;
}

static void judge_layer(const struct gmt_judge *judge, const struct gmt_baseline *found,
	const struct gmt_baseline_row *layer, const struct gmt_account *account)
{
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_REGRESSION, account);
	struct gmt_verdict *verdict = judge->verdict;
	const struct gmt_baseline_row *before =
		gmt_baseline_find(judge->gate->baseline, layer->rank, layer->layer, layer->device, "");

	check.measured = (double)layer->peak_bytes;
	check.unit = "bytes";
	if (!before) {
		check.state = GMT_CHECK_FAILED;
		check.text = gmt_verdict_line(verdict, "peak %s; the baseline has no entry for this memory",
			gmt_text_size(layer->peak_bytes).text);
		struct gmt_finding *finding =
			gmt_verdict_add_finding(verdict, gmt_verdict_add_check(verdict, check));
		if (finding) {
			finding->title = check.text;
			finding->hint = "run check with --update-baseline to add it";
		}
		return;
	}

	uint64_t slack = (uint64_t)(judge->gate->limits->tolerance * (double)before->peak_bytes);
	struct comparison peak = { "the peak", before->peak_bytes, layer->peak_bytes, slack };
	struct comparison retained = { "live memory at the end of the work", before->retained_bytes,
		layer->retained_bytes, slack };
	bool failed =
		exceeds(&peak) || exceeds(&retained) || judge_growth(judge, 0, found, layer, false);

	check.state = failed ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.limit = (double)(before->peak_bytes + slack);
	check.text =
		gmt_verdict_line(verdict, "peak %s, live at the end %s; the baseline has %s and %s",
			gmt_text_size(layer->peak_bytes).text, gmt_text_size(layer->retained_bytes).text,
			gmt_text_size(before->peak_bytes).text, gmt_text_size(before->retained_bytes).text);

	uint32_t number = gmt_verdict_add_check(verdict, check);
	report(judge, number, found, layer, &peak, false);
	report(judge, number, found, layer, &retained, true);
	judge_growth(judge, number, found, layer, true);
}

void gmt_judge_regressions(const struct gmt_judge *judge)
{
	const struct gmt_gate *gate = judge->gate;
	const struct gmt_accounting *accounting = &judge->input->replay->accounting;
	int32_t rank = judge->verdict->subjects.items[judge->subject].rank;
	struct gmt_baseline found = { 0 };
	bool done =
		!(gate->baseline || gate->new_baseline) || collect(judge, rank < 0 ? -1 : rank, &found);

	for (size_t i = 0; done && gate->new_baseline && i < found.rows.count; i++)
		if (is_worth_keeping(&found, &found.rows.items[i]))
			done = gmt_baseline_add(gate->new_baseline, &found.rows.items[i]);
	for (size_t i = 0; done && gate->baseline && i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];
		const struct gmt_baseline_row *layer =
			gmt_baseline_find(&found, rank < 0 ? -1 : rank, account->layer, account->device, "");

		if (layer)
			judge_layer(judge, &found, layer, account);
	}
	judge->verdict->out_of_memory |= !done;
	gmt_baseline_fini(&found);
}

static bool was_judged(const struct gmt_verdict *verdict, const struct gmt_baseline_row *row)
{
	for (size_t i = 0; i < verdict->checks.count; i++) {
		const struct gmt_verdict_check *check = &verdict->checks.items[i];
		int32_t rank = verdict->subjects.items[check->subject].rank;

		if (check->rule == GMT_RULE_REGRESSION && check->layer == row->layer &&
			check->device == row->device && (rank < 0 ? -1 : rank) == row->rank)
			return true;
	}
	return false;
}

void gmt_gate_note_missing_layers(struct gmt_verdict *verdict, const struct gmt_baseline *baseline)
{
	for (size_t i = 0; i < baseline->rows.count; i++) {
		const struct gmt_baseline_row *row = &baseline->rows.items[i];
		struct gmt_verdict_check check = { .layer = row->layer, .device = row->device };
		const char **note;

		if (*row->key || was_judged(verdict, row))
			continue;
		note = gmt_vec_push(&verdict->notes);
		verdict->out_of_memory |= !note;
		if (note && row->rank < 0)
			*note =
				gmt_verdict_line(verdict, "the baseline has %s, but none of these recordings does",
					gmt_verdict_memory_name(&check).text);
		else if (note)
			*note = gmt_verdict_line(verdict,
				"the baseline has %s of rank %d, but none of these recordings does",
				gmt_verdict_memory_name(&check).text, row->rank);
	}
}

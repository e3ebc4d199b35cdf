/* SPDX-License-Identifier: MIT */
#include "analysis/ledger/ledger.h"

#include <stddef.h>

#include "base/budget.h"
#include "reader/load/clock.h"

enum { ANSWERS_PER_UNIT = 16 }; /* number of answers that cost one unit of the budget */

struct builder {
	struct gmt_ledger *ledger;
	const struct gmt_ledger_watch *watch;
};

const char *gmt_ledger_line_name(enum gmt_ledger_line line)
{
	static const char *const names[] = {
#define GMT_LEDGER_LINE(NAME, name, text) name,
#include "analysis/ledger/ledger_lines.def"
#undef GMT_LEDGER_LINE
	};

	return names[line];
}

const char *gmt_ledger_line_text(enum gmt_ledger_line line)
{
	static const char *const texts[] = {
#define GMT_LEDGER_LINE(NAME, name, text) text,
#include "analysis/ledger/ledger_lines.def"
#undef GMT_LEDGER_LINE
	};

	return texts[line];
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How well an answer fits a moment. */
enum mismatch {
	FITS,     /* the process held the same memory */
	/* the process held other memory; the device's use can be corrected by the difference */
	DIFFERS,
	CHANGED,  /* the memory of the process changed during the question */
	UNUSABLE,   /* the device's use at the moment cannot be derived from this answer */
};

/*
 * Returns how well the answer's pools, or its graph memory, fit. The device counts reserved memory.
 * Blocks inside it may come and go, as long as the blocks of the moment fit into the reserved
 * memory.
 */
static enum mismatch cache_mismatch(uint64_t before_bytes, uint64_t after_bytes, uint64_t now_bytes,
	bool known, uint64_t reserved_bytes)
{
	if (before_bytes == now_bytes && after_bytes == now_bytes)
		return FITS;
	return known && reserved_bytes >= now_bytes ? DIFFERS : UNUSABLE;
}

static enum mismatch mismatch_of(const struct gmt_ledger_answer *answer,
	const struct gmt_ledger_sums *now)
{
	const struct gmt_sample *sample = &answer->sample;
	enum mismatch mismatch = answer->before.steady_bytes != answer->after.steady_bytes ? CHANGED
		: answer->after.steady_bytes != now->steady_bytes                              ? DIFFERS
																					   : FITS;
	enum mismatch pools = cache_mismatch(answer->before.pool_bytes, answer->after.pool_bytes,
		now->pool_bytes, sample->known & GMT_SAMPLE_POOLS, sample->pool_reserved_bytes);
	enum mismatch graphs = cache_mismatch(answer->before.graph_bytes, answer->after.graph_bytes,
		now->graph_bytes, sample->known & GMT_SAMPLE_GRAPHS, sample->graph_reserved_bytes);

	mismatch = pools > mismatch ? pools : mismatch;
	return graphs > mismatch ? graphs : mismatch;
}

/*
 * The answers for one moment: the driver's, and if it lacks a part, other answers that fit equally
 * well.
 */
struct answers {
	/* NULL: there is no such answer */
	const struct gmt_ledger_answer *driver, *processes, *pools, *graphs;
	enum mismatch mismatch;
};

/*
 * Returns the nearest of the best-fitting answers that have these parts, or NULL. With
 * `same_use`, returns only an answer that fits (FITS) and reports the same memory of the device as
 * `same_use`.
 */
static const struct gmt_ledger_answer *find_answer(const struct builder *builder, int16_t device,
	unsigned parts, const struct gmt_ledger_holding *holding,
	const struct gmt_ledger_answer *same_use, enum mismatch *ret_mismatch)
{
	struct gmt_ledger_sums now = gmt_ledger_sums(holding);
	const struct gmt_ledger_answer *best = NULL;

	*ret_mismatch = same_use ? DIFFERS : UNUSABLE;
	/* A file can have many devices and many answers, so the search has a budget. */
	if (!gmt_budget_spend_work(builder->watch->answers.count / ANSWERS_PER_UNIT,
			GMT_BUDGET_MOMENTS))
		return NULL;
	for (size_t i = 0; i < builder->watch->answers.count; i++) {
		const struct gmt_ledger_answer *answer = &builder->watch->answers.items[i];
		enum mismatch mismatch;

		if (answer->sample.device != (uint16_t)device || (answer->sample.known & parts) != parts ||
			(same_use &&
				(answer->sample.free_bytes != same_use->sample.free_bytes ||
					answer->sample.total_bytes != same_use->sample.total_bytes)))
			continue;
		mismatch = mismatch_of(answer, &now);
		if (mismatch < *ret_mismatch ||
			(best && mismatch == *ret_mismatch &&
				distance(answer->sample.stamp, holding->stamp) <
					distance(best->sample.stamp, holding->stamp))) {
			best = answer;
			*ret_mismatch = mismatch;
		}
	}
	return best;
}

static const struct gmt_ledger_answer *find_part(const struct builder *builder, int16_t device,
	unsigned part, const struct gmt_ledger_holding *holding, const struct answers *answers)
{
	enum mismatch mismatch;

	if (!answers->driver || answers->driver->sample.known & part)
		return answers->driver;
	return answers->mismatch ? NULL
							 : find_answer(builder, device, GMT_SAMPLE_DRIVER | part, holding,
								   answers->driver, &mismatch);
}

static struct answers find_answers(const struct builder *builder, int16_t device,
	const struct gmt_ledger_holding *holding)
{
	struct answers answers = { 0 };

	answers.driver =
		find_answer(builder, device, GMT_SAMPLE_DRIVER, holding, NULL, &answers.mismatch);
	answers.processes = find_part(builder, device, GMT_SAMPLE_PROCESSES, holding, &answers);
	answers.pools = find_part(builder, device, GMT_SAMPLE_POOLS, holding, &answers);
	answers.graphs = find_part(builder, device, GMT_SAMPLE_GRAPHS, holding, &answers);
	return answers;
}

static void set(struct gmt_ledger_entry *entry, enum gmt_ledger_line line, uint64_t bytes,
	bool known)
{
	entry->lines[line] = (int64_t)bytes;
	entry->known[line] = known;
}

/*
 * Returns the part of a space that belongs to PyTorch's allocator: from the stacks or, without
 * stacks, from its own total.
 */
static uint64_t segments_in(const struct gmt_ledger_holding *holding, unsigned space)
{
	if (holding->knows_segments || space != GMT_SPACE_DEVICE)
		return holding->segments[space];
	return smaller(holding->reported_reserved_bytes,
		holding->bytes[space] - holding->arenas[space]);
}

static void fill_torch(struct gmt_ledger_entry *entry, const struct gmt_ledger_holding *holding)
{
	uint64_t reserved =
		segments_in(holding, GMT_SPACE_DEVICE) + segments_in(holding, GMT_SPACE_VMM);
	/*
	 * An allocator that reports no reserved memory caches nothing (PYTORCH_NO_CUDA_MEMORY_CACHING).
	 */
	uint64_t live = holding->reported_reserved_bytes
		? smaller(holding->reported_allocated_bytes, reserved)
		: reserved;
	bool known = reserved || holding->reported_reserved_bytes;

	set(entry, GMT_LEDGER_TORCH_LIVE, live, known);
	set(entry, GMT_LEDGER_TORCH_CACHED, reserved - live, known);
	/* PyTorch reports the rounded size, not the requested size. */
	set(entry, GMT_LEDGER_TORCH_ROUNDING, 0, false);
	set(entry, GMT_LEDGER_ARENAS,
		holding->arenas[GMT_SPACE_DEVICE] + holding->arenas[GMT_SPACE_VMM], true);
	set(entry, GMT_LEDGER_DEVICE,
		holding->bytes[GMT_SPACE_DEVICE] - segments_in(holding, GMT_SPACE_DEVICE) -
			holding->arenas[GMT_SPACE_DEVICE],
		true);
	set(entry, GMT_LEDGER_VMM,
		holding->bytes[GMT_SPACE_VMM] - segments_in(holding, GMT_SPACE_VMM) -
			holding->arenas[GMT_SPACE_VMM],
		true);
	set(entry, GMT_LEDGER_ARRAY, holding->bytes[GMT_SPACE_ARRAY], true);
}

/*
 * Fills the lines of pools or graphs, which reserve more memory than their blocks use. The driver
 * reports the reserved size.
 */
static void fill_cache(struct gmt_ledger_entry *entry, enum gmt_ledger_line used,
	enum gmt_ledger_line cached, uint64_t live_bytes, bool known, uint64_t reserved_bytes)
{
	uint64_t used_bytes = known ? smaller(live_bytes, reserved_bytes) : live_bytes;

	set(entry, used, used_bytes, true);
	set(entry, cached, known ? reserved_bytes - used_bytes : 0, known);
}

static void fill_caches(struct gmt_ledger_entry *entry, const struct gmt_ledger_holding *holding,
	const struct answers *answers)
{
	const struct gmt_ledger_answer *pools = answers->pools, *graphs = answers->graphs;

	fill_cache(entry, GMT_LEDGER_POOL_USED, GMT_LEDGER_POOL_CACHED, holding->bytes[GMT_SPACE_POOL],
		pools, pools ? pools->sample.pool_reserved_bytes : 0);
	fill_cache(entry, GMT_LEDGER_GRAPH_USED, GMT_LEDGER_GRAPH_CACHED,
		holding->bytes[GMT_SPACE_GRAPH], graphs, graphs ? graphs->sample.graph_reserved_bytes : 0);
}

/* A measured context of 0 bytes means that it was not measured: a context always needs memory. */
static void fill_driver(struct gmt_ledger_entry *entry, const struct gmt_ledger_holding *holding)
{
	uint64_t contexts = holding->bytes[GMT_SPACE_CONTEXT];

	set(entry, GMT_LEDGER_CONTEXTS, contexts, contexts);
	set(entry, GMT_LEDGER_MODULES, holding->bytes[GMT_SPACE_MODULE], true);
	set(entry, GMT_LEDGER_LIMITS, holding->bytes[GMT_SPACE_LIMIT], true);
}

static int64_t sum_of(const struct gmt_ledger_entry *entry)
{
	uint64_t sum = 0;

	/* The sum wraps on purpose, so that a damaged file does not cause undefined behaviour. */
	for (unsigned line = 0; line < GMT_LEDGER_LINES; line++)
		sum += (uint64_t)entry->lines[line];
	return (int64_t)sum;
}

/*
 * Fills the lines that come from NVML: this process and other processes. NVML counts independently
 * and may be late. The lines are dropped if they exceed the use that the driver reports.
 */
static void fill_processes(struct gmt_ledger_entry *entry, const struct gmt_ledger_holding *holding,
	const struct answers *answers)
{
	const struct gmt_ledger_answer *answer = answers->processes;
	int64_t change_bytes, own;

	if (!answer)
		return;
	change_bytes = (int64_t)(gmt_ledger_sums(holding).steady_bytes - answer->after.steady_bytes);
	own =
		(int64_t)(answer->sample.process_bytes + (uint64_t)change_bytes - (uint64_t)sum_of(entry));
	set(entry, GMT_LEDGER_RUNTIME, own > 0 ? (uint64_t)own : 0, true);
	set(entry, GMT_LEDGER_OTHER_PROCESSES, answer->sample.others_bytes, true);
	if (entry->has_answer && (int64_t)(entry->used_bytes - (uint64_t)sum_of(entry)) < 0) {
		set(entry, GMT_LEDGER_RUNTIME, 0, false);
		set(entry, GMT_LEDGER_OTHER_PROCESSES, 0, false);
	}
}

/*
 * Sets the use that the device reported, corrected by the change of the process's memory since
 * then.
 */
static void fill_used(const struct builder *builder, struct gmt_ledger_entry *entry,
	const struct gmt_ledger_holding *holding, const struct answers *answers)
{
	const struct gmt_ledger_answer *answer = answers->driver;
	struct gmt_ledger_sums now = gmt_ledger_sums(holding);
	uint64_t change_bytes;

	if (!answer)
		return;
	change_bytes = now.steady_bytes - answer->after.steady_bytes;
	entry->has_answer = true;
	entry->is_adjusted = change_bytes || answers->mismatch == DIFFERS;
	entry->answer_time_ns = gmt_clock_time_ns(builder->watch->recording, answer->sample.stamp);
	entry->total_bytes = answer->sample.total_bytes;
	entry->used_bytes = answer->sample.total_bytes - answer->sample.free_bytes + change_bytes;
}

/*
 * Drops NVML's lines if the sum exceeds the memory in use: NVML's answer may be from another moment
 * than the driver's.
 */
static void drop_stale_processes(struct gmt_ledger_entry *entry)
{
	if ((uint64_t)sum_of(entry) <= entry->used_bytes || !entry->known[GMT_LEDGER_OTHER_PROCESSES])
		return;
	set(entry, GMT_LEDGER_RUNTIME, 0, false);
	set(entry, GMT_LEDGER_OTHER_PROCESSES, 0, false);
}

static bool add_entry(const struct builder *builder, const struct gmt_ledger_entry *template,
	const struct gmt_ledger_holding *holding)
{
	struct gmt_ledger_entry *entry = gmt_vec_push(&builder->ledger->entries);
	struct answers answers;

	if (!entry)
		return false;
	*entry = *template;
	answers = find_answers(builder, entry->device, holding);
	fill_torch(entry, holding);
	fill_caches(entry, holding, &answers);
	fill_driver(entry, holding);
	fill_used(builder, entry, holding, &answers);
	fill_processes(entry, holding, &answers);
	entry->managed_bytes = holding->bytes[GMT_SPACE_MANAGED];
	for (unsigned space = 1; space < GMT_SPACE_COUNT; space++)
		if (gmt_space_layer(space) == GMT_LAYER_IMPORTED)
			entry->imported_bytes += holding->bytes[space];
	if (entry->has_answer)
		drop_stale_processes(entry);
	if (entry->has_answer)
		set(entry, GMT_LEDGER_UNEXPLAINED, entry->used_bytes - (uint64_t)sum_of(entry), true);
	else
		entry->used_bytes = (uint64_t)sum_of(entry);
	return true;
}

static bool add_refusals(const struct builder *builder, const struct gmt_ooms *ooms, int16_t device)
{
	const struct gmt_ledger_watch *watch = builder->watch;

	for (size_t i = 0; i < ooms->rows.count; i++) {
		const struct gmt_oom_row *row = &ooms->rows.items[i];
		struct gmt_ledger_entry template = {
			.moment = GMT_LEDGER_AT_REFUSAL,
			.oom = i,
			.device = device,
			.time_ns = row->time_ns,
		};
		size_t at = 0;

		if (row->device != device)
			continue;
		while (at < watch->refusals.count &&
			(watch->refusals.items[at].stamp != row->stamp ||
				watch->refusal_devices.items[at] != device))
			at++;
		if (at < watch->refusals.count &&
			!add_entry(builder, &template, &watch->refusals.items[at]))
			return false;
	}
	return true;
}

static bool add_device(const struct builder *builder, const struct gmt_ledger_device *device,
	const struct gmt_ooms *ooms, const struct gmt_replay *replay)
{
	struct gmt_ledger_entry template = {
		.moment = GMT_LEDGER_AT_END,
		.device = device->device,
		.time_ns = replay->end_time_ns,
	};
	struct gmt_ledger_holding end = device->end;

	end.stamp = builder->watch->end_stamp;
	if (end.stamp != UINT64_MAX)
		template.time_ns = gmt_clock_time_ns(builder->watch->recording, end.stamp);
	if (!add_entry(builder, &template, &end))
		return false;
	template.moment = GMT_LEDGER_AT_PEAK;
	template.time_ns = gmt_clock_time_ns(builder->watch->recording, device->peak.stamp);
	if (device->peak_bytes && !add_entry(builder, &template, &device->peak))
		return false;
	return add_refusals(builder, ooms, device->device);
}

enum gmt_status gmt_ledger_compute(struct gmt_ledger *ret_ledger,
	const struct gmt_ledger_watch *watch, const struct gmt_ooms *ooms,
	const struct gmt_replay *replay, struct gmt_error *error)
{
	struct builder builder = { ret_ledger, watch };

	for (size_t i = 0; i < watch->devices.count; i++) {
		if (!add_device(&builder, &watch->devices.items[i], ooms, replay)) {
			gmt_ledger_fini(ret_ledger);
			return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
		}
	}
	return GMT_OK;
}

const struct gmt_ledger_entry *gmt_ledger_find(const struct gmt_ledger *ledger, int32_t device,
	enum gmt_ledger_moment moment, size_t oom)
{
	for (size_t i = 0; i < ledger->entries.count; i++) {
		const struct gmt_ledger_entry *entry = &ledger->entries.items[i];

		if (entry->device == device && entry->moment == moment &&
			(moment != GMT_LEDGER_AT_REFUSAL || entry->oom == oom))
			return entry;
	}
	return NULL;
}

void gmt_ledger_fini(struct gmt_ledger *ledger)
{
	gmt_vec_fini(&ledger->entries);
}

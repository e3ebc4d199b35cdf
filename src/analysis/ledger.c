/* SPDX-License-Identifier: MIT */
#include "analysis/ledger.h"

#include <stddef.h>

#include "base/budget.h"
#include "model/clock.h"

enum { ANSWERS_A_UNIT = 16 }; /* that are looked at in the time of a unit */

struct maker {
	struct gmt_ledger *ledger;
	const struct gmt_ledger_watch *watch;
};

const char *gmt_ledger_line_name(enum gmt_ledger_line line)
{
	static const char *const names[] = {
#define GMT_LEDGER_LINE(NAME, name, text) name,
#include "analysis/ledger_lines.def"
#undef GMT_LEDGER_LINE
	};

	return names[line];
}

const char *gmt_ledger_line_text(enum gmt_ledger_line line)
{
	static const char *const texts[] = {
#define GMT_LEDGER_LINE(NAME, name, text) text,
#include "analysis/ledger_lines.def"
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

/* How well an answer fits a moment: 0 best. */
static int misfit_of(const struct gmt_ledger_answer *answer, uint64_t steady_bytes)
{
	if (answer->before.steady_bytes != answer->after.steady_bytes)
		return 2;
	return answer->after.steady_bytes != steady_bytes;
}

/* The nearest answer of those that fit best, with these parts; NULL when there is none. */
static const struct gmt_ledger_answer *find_answer(const struct maker *maker, int16_t device, unsigned parts,
	const struct gmt_ledger_holding *holding)
{
	uint64_t steady_bytes = gmt_ledger_sums(holding).steady_bytes;
	const struct gmt_ledger_answer *best = NULL;
	int best_misfit = 3;

	/* A file can have many devices, and many answers. */
	if (!gmt_budget_spend(maker->watch->answers.count / ANSWERS_A_UNIT, GMT_BUDGET_MOMENTS))
		return NULL;
	for (size_t i = 0; i < maker->watch->answers.count; i++) {
		const struct gmt_ledger_answer *answer = &maker->watch->answers.items[i];
		int misfit = misfit_of(answer, steady_bytes);

		if (answer->sample.device != (uint16_t)device || (answer->sample.known & parts) != parts ||
			misfit > best_misfit)
			continue;
		if (misfit < best_misfit || distance(answer->sample.stamp, holding->stamp) <
			distance(best->sample.stamp, holding->stamp)) {
			best = answer;
			best_misfit = misfit;
		}
	}
	return best;
}

static void set(struct gmt_ledger_entry *entry, enum gmt_ledger_line line, uint64_t bytes, bool known)
{
	entry->lines[line] = (int64_t)bytes;
	entry->known[line] = known;
}

/* Which part of a space PyTorch's allocator has: told by the stacks, or, without any, by its own total. */
static uint64_t segments_in(const struct gmt_ledger_holding *holding, unsigned space)
{
	if (holding->knows_segments || space != GMT_SPACE_DEVICE)
		return holding->segments[space];
	return smaller(holding->told_reserved_bytes, holding->bytes[space]);
}

static void fill_torch(struct gmt_ledger_entry *entry, const struct gmt_ledger_holding *holding)
{
	uint64_t reserved = segments_in(holding, GMT_SPACE_DEVICE) + segments_in(holding, GMT_SPACE_VMM);
	/* An allocator that tells nothing keeps nothing: PYTORCH_NO_CUDA_MEMORY_CACHING. */
	uint64_t live = holding->told_reserved_bytes ? smaller(holding->told_allocated_bytes, reserved) : reserved;
	bool known = reserved || holding->told_reserved_bytes;

	set(entry, GMT_LEDGER_TORCH_LIVE, live, known);
	set(entry, GMT_LEDGER_TORCH_CACHED, reserved - live, known);
	/* It reports what it rounded up to, not what it was asked for. */
	set(entry, GMT_LEDGER_TORCH_ROUNDING, 0, false);
	set(entry, GMT_LEDGER_DEVICE, holding->bytes[GMT_SPACE_DEVICE] - segments_in(holding, GMT_SPACE_DEVICE), true);
	set(entry, GMT_LEDGER_VMM, holding->bytes[GMT_SPACE_VMM] - segments_in(holding, GMT_SPACE_VMM), true);
	set(entry, GMT_LEDGER_ARRAY, holding->bytes[GMT_SPACE_ARRAY], true);
}

/* What has blocks inside and keeps more than they are: the driver says how much. */
static void fill_cache(struct gmt_ledger_entry *entry, enum gmt_ledger_line used, enum gmt_ledger_line cached,
	uint64_t live_bytes, bool known, uint64_t reserved_bytes)
{
	uint64_t used_bytes = known ? smaller(live_bytes, reserved_bytes) : live_bytes;

	set(entry, used, used_bytes, true);
	set(entry, cached, known ? reserved_bytes - used_bytes : 0, known);
}

static void fill_caches(const struct maker *maker, struct gmt_ledger_entry *entry,
	const struct gmt_ledger_holding *holding)
{
	const struct gmt_ledger_answer *pools = find_answer(maker, entry->device, GMT_SAMPLE_POOLS, holding),
		*graphs = find_answer(maker, entry->device, GMT_SAMPLE_GRAPHS, holding);

	fill_cache(entry, GMT_LEDGER_POOL_USED, GMT_LEDGER_POOL_CACHED, holding->bytes[GMT_SPACE_POOL], pools,
		pools ? pools->sample.pool_reserved_bytes : 0);
	fill_cache(entry, GMT_LEDGER_GRAPH_USED, GMT_LEDGER_GRAPH_CACHED, holding->bytes[GMT_SPACE_GRAPH], graphs,
		graphs ? graphs->sample.graph_reserved_bytes : 0);
}

/* What was measured as nothing was not measured: a context is never free. */
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

	/* Wrapping on purpose: a damaged file must not be undefined behaviour. */
	for (unsigned line = 0; line < GMT_LEDGER_LINES; line++)
		sum += (uint64_t)entry->lines[line];
	return (int64_t)sum;
}

/* What NVML says of this process and of others. */
static void fill_processes(const struct maker *maker, struct gmt_ledger_entry *entry,
	const struct gmt_ledger_holding *holding)
{
	const struct gmt_ledger_answer *answer = find_answer(maker, entry->device, GMT_SAMPLE_PROCESSES, holding);
	int64_t moved, own;

	if (!answer)
		return;
	moved = (int64_t)(gmt_ledger_sums(holding).steady_bytes - answer->after.steady_bytes);
	own = (int64_t)(answer->sample.process_bytes + (uint64_t)moved - (uint64_t)sum_of(entry));
	set(entry, GMT_LEDGER_RUNTIME, own > 0 ? (uint64_t)own : 0, true);
	set(entry, GMT_LEDGER_OTHER_PROCESSES, answer->sample.others_bytes, true);
}

/* What the device said, moved by what the process has more or less than then. */
static void fill_used(const struct maker *maker, struct gmt_ledger_entry *entry,
	const struct gmt_ledger_holding *holding)
{
	const struct gmt_ledger_answer *answer = find_answer(maker, entry->device, GMT_SAMPLE_DRIVER, holding);
	struct gmt_ledger_sums now = gmt_ledger_sums(holding);
	uint64_t moved;

	if (!answer)
		return;
	moved = now.steady_bytes - answer->after.steady_bytes;
	if (!entry->known[GMT_LEDGER_POOL_CACHED])
		moved += now.pool_bytes - answer->after.pool_bytes;
	if (!entry->known[GMT_LEDGER_GRAPH_CACHED])
		moved += now.graph_bytes - answer->after.graph_bytes;
	entry->has_answer = true;
	entry->is_moved = moved != 0;
	entry->answer_time_ns = gmt_clock_time_ns(maker->watch->snapshot, answer->sample.stamp);
	entry->total_bytes = answer->sample.total_bytes;
	entry->used_bytes = answer->sample.total_bytes - answer->sample.free_bytes + moved;
}

static bool add_entry(const struct maker *maker, const struct gmt_ledger_entry *about,
	const struct gmt_ledger_holding *holding)
{
	struct gmt_ledger_entry *entry = gmt_vec_push(&maker->ledger->entries);

	if (!entry)
		return false;
	*entry = *about;
	fill_torch(entry, holding);
	fill_caches(maker, entry, holding);
	fill_driver(entry, holding);
	fill_processes(maker, entry, holding);
	fill_used(maker, entry, holding);
	entry->managed_bytes = holding->bytes[GMT_SPACE_MANAGED];
	for (unsigned space = 1; space < GMT_SPACE_COUNT; space++)
		if (gmt_space_layer(space) == GMT_LAYER_IMPORTED)
			entry->imported_bytes += holding->bytes[space];
	if (entry->has_answer)
		set(entry, GMT_LEDGER_UNEXPLAINED, entry->used_bytes - (uint64_t)sum_of(entry), true);
	else
		entry->used_bytes = (uint64_t)sum_of(entry);
	return true;
}

static bool add_refusals(const struct maker *maker, const struct gmt_ooms *ooms, int16_t device)
{
	const struct gmt_ledger_watch *watch = maker->watch;

	for (size_t i = 0; i < ooms->rows.count; i++) {
		const struct gmt_oom_row *row = &ooms->rows.items[i];
		struct gmt_ledger_entry about = {
			.moment = GMT_LEDGER_AT_REFUSAL, .oom = i, .device = device, .time_ns = row->time_ns,
		};
		size_t at = 0;

		if (row->device != device)
			continue;
		while (at < watch->refusals.count && (watch->refusals.items[at].stamp != row->stamp ||
			watch->refusal_devices.items[at] != device))
			at++;
		if (at < watch->refusals.count && !add_entry(maker, &about, &watch->refusals.items[at]))
			return false;
	}
	return true;
}

static bool add_device(const struct maker *maker, const struct gmt_ledger_device *device,
	const struct gmt_ooms *ooms, const struct gmt_replay *replay)
{
	struct gmt_ledger_entry about = {
		.moment = GMT_LEDGER_AT_END, .device = device->device, .time_ns = replay->end_time_ns,
	};
	struct gmt_ledger_holding end = device->now;

	/* The last answers are the ones that count at the end. */
	end.stamp = UINT64_MAX;
	if (!add_entry(maker, &about, &end))
		return false;
	about.moment = GMT_LEDGER_AT_PEAK;
	about.time_ns = gmt_clock_time_ns(maker->watch->snapshot, device->peak.stamp);
	if (device->peak_bytes && !add_entry(maker, &about, &device->peak))
		return false;
	return add_refusals(maker, ooms, device->device);
}

enum gmt_status gmt_ledger_init(struct gmt_ledger *ret_ledger, const struct gmt_ledger_watch *watch,
	const struct gmt_ooms *ooms, const struct gmt_replay *replay, struct gmt_error *error)
{
	struct maker maker = { ret_ledger, watch };

	for (size_t i = 0; i < watch->devices.count; i++) {
		if (!add_device(&maker, &watch->devices.items[i], ooms, replay)) {
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

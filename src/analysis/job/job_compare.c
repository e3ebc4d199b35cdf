/* SPDX-License-Identifier: MIT */
/* Compares the peaks of the ranks: spread, groups of similar peaks, and outliers. */
#include <stdlib.h>

#include "analysis/job/job_make.h"

enum {
	LAYERS = 8, /* all layer numbers are below this value */
	OUTLIERS_EXPLAINED = 16,
	MIN_GAP_BYTES = 16 << 20, /* between two groups */
	GAP_SHARE = 20,             /* ... and this part of the lower peak */
	MIN_GROUP_SHARE = 100,    /* a group has at least this part of the ranks, and two */
};

/* A rank's peak, to be sorted. */
struct peak {
	uint64_t bytes;
	uint32_t rank; /* index */
};

struct comparer {
	struct gmt_job *job;
	GMT_VEC(struct peak) peaks; /* of the ranks with an account, in order of bytes */
	GMT_VEC(uint64_t) values;
};

static int compare_peaks(const void *a, const void *b)
{
	const struct peak *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

static int compare_groups(const void *a, const void *b)
{
	const struct gmt_job_group *left = a, *right = b;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return (left->median_rank > right->median_rank) - (left->median_rank < right->median_rank);
}

static int compare_differences(const void *a, const void *b)
{
	const struct gmt_job_difference *left = a, *right = b;
	uint64_t left_bytes = (uint64_t)llabs(left->bytes), right_bytes = (uint64_t)llabs(right->bytes);

	if (left_bytes != right_bytes)
		return left_bytes > right_bytes ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Chooses the layer in which most processes hold device memory. */
static void choose_layer(struct gmt_job *job)
{
	uint32_t counts[LAYERS] = { 0 };

	for (size_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_summarized_account *account =
			gmt_process_account(job->ranks.items[i].summary);

		if (account && account->device >= 0 && account->layer < LAYERS)
			counts[account->layer]++;
	}
	for (uint8_t layer = 0; layer < LAYERS; layer++)
		if (counts[layer] > counts[job->layer])
			job->layer = layer;
}

static uint64_t device_bytes(const struct gmt_process_summary *summary, int16_t device)
{
	for (uint32_t i = 0; i < summary->device_count; i++)
		if ((int64_t)summary->devices[i].ordinal == device)
			return summary->devices[i].total_bytes;
	return 0;
}

static void choose_account(const struct gmt_job *job, struct gmt_job_rank *rank)
{
	const struct gmt_process_summary *summary = rank->summary;

	for (uint32_t i = 0; i < summary->account_count; i++) {
		const struct gmt_summarized_account *account = &summary->accounts[i];

		if (account->layer == job->layer && account->device >= 0 &&
			account->peak_bytes > rank->peak_bytes) {
			rank->account = account;
			rank->peak_bytes = account->peak_bytes;
		}
	}
	if (!rank->account)
		return;
	rank->total_bytes = device_bytes(summary, rank->account->device);
	for (uint32_t i = 0; i < summary->use_count; i++)
		if (summary->uses[i].device == rank->account->device &&
			(!rank->use || summary->uses[i].is_peak))
			rank->use = &summary->uses[i];
}

static bool collect(struct comparer *comparer)
{
	struct gmt_job *job = comparer->job;

	for (size_t i = 0; i < job->ranks.count; i++) {
		struct gmt_job_rank *rank = &job->ranks.items[i];
		struct peak *peak;

		choose_account(job, rank);
		if (!rank->account)
			continue;
		peak = gmt_vec_push(&comparer->peaks);
		if (!peak)
			return false;
		*peak = (struct peak){ rank->peak_bytes, (uint32_t)i };
	}
	if (comparer->peaks.count)
		qsort(comparer->peaks.items, comparer->peaks.count, sizeof(*comparer->peaks.items),
			compare_peaks);
	return gmt_vec_reserve(&comparer->values, job->ranks.count + 1);
}

static void find_spread(struct comparer *comparer)
{
	struct gmt_job *job = comparer->job;
	uint64_t *values = comparer->values.items;
	size_t count = 0;

	for (size_t i = 0; i < comparer->peaks.count; i++)
		values[i] = comparer->peaks.items[i].bytes;
	job->peaks = gmt_spread_of(values, comparer->peaks.count);
	for (size_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_job_rank *rank = &job->ranks.items[i];

		if (rank->account && rank->account->has_reserved)
			values[count++] = rank->account->reserved_peak_bytes;
	}
	job->reserved = gmt_spread_of(values, count);
}

/* Makes a group of these peaks, which are in order. */
static void add_group(struct comparer *comparer, const struct peak *peaks, size_t count,
	uint32_t role)
{
	struct gmt_job_group *group = &comparer->job->groups[comparer->job->group_count++];

	for (size_t i = 0; i < count; i++)
		comparer->values.items[i] = peaks[i].bytes;
	*group = (struct gmt_job_group){
		.role = role,
		.count = (uint32_t)count,
		.peaks = gmt_spread_of(comparer->values.items, count),
		.median_rank = peaks[(count - 1) / 2].rank,
	};
}

/* Groups similar peaks. A gap of more than 5 % of the lower peak, and 16 MiB, separates groups. */
static void group_by_peaks(struct comparer *comparer)
{
	const struct peak *peaks = comparer->peaks.items;
	struct gmt_job *job = comparer->job;
	size_t count = comparer->peaks.count, least = count / MIN_GROUP_SHARE;
	uint32_t none = gmt_job_intern_text(job->store, "", 0);

	least = least < 2 ? 2 : least;
	for (size_t begin = 0; begin < count;) {
		size_t end = begin + 1;

		while (end < count &&
			(peaks[end].bytes - peaks[end - 1].bytes <= MIN_GAP_BYTES ||
				peaks[end].bytes - peaks[end - 1].bytes <= peaks[end - 1].bytes / GAP_SHARE))
			end++;
		if (end - begin >= least && job->group_count < GMT_JOB_GROUPS)
			add_group(comparer, &peaks[begin], end - begin, none);
		begin = end;
	}
	/*
	 * If no group of like peaks is large enough, all ranks form one group. Its spread shows how
	 * much they differ.
	 */
	if (!job->group_count && count)
		add_group(comparer, peaks, count, none);
}

static bool group_by_roles(struct comparer *comparer)
{
	struct gmt_job *job = comparer->job;
	GMT_VEC(struct peak) of_role = { 0 };
	bool done = gmt_vec_reserve(&of_role, comparer->peaks.count + 1);

	for (size_t i = 0; done && i < comparer->peaks.count; i++) {
		uint32_t role = job->ranks.items[comparer->peaks.items[i].rank].launch.role;
		uint32_t known = 0;

		while (known < job->group_count && job->groups[known].role != role)
			known++;
		if (known < job->group_count || job->group_count == GMT_JOB_GROUPS)
			continue;
		of_role.count = 0;
		for (size_t k = i; k < comparer->peaks.count; k++)
			if (job->ranks.items[comparer->peaks.items[k].rank].launch.role == role)
				of_role.items[of_role.count++] = comparer->peaks.items[k];
		add_group(comparer, of_role.items, of_role.count, role);
	}
	gmt_vec_fini(&of_role);
	return done;
}

static bool have_roles(const struct comparer *comparer)
{
	const struct gmt_job *job = comparer->job;

	for (size_t i = 1; i < comparer->peaks.count; i++)
		if (job->ranks.items[comparer->peaks.items[i].rank].launch.role !=
			job->ranks.items[comparer->peaks.items[0].rank].launch.role)
			return true;
	return false;
}

static bool find_groups(struct comparer *comparer)
{
	struct gmt_job *job = comparer->job;

	if (comparer->peaks.count < GMT_SPREAD_MIN_VALUES) {
		job->why_no_groups = job->why_no_outliers = "fewer than 3 ranks hold device memory";
		return true;
	}
	if (!have_roles(comparer))
		group_by_peaks(comparer);
	else if (!group_by_roles(comparer))
		return false;
	qsort(job->groups, job->group_count, sizeof(*job->groups), compare_groups);
	for (size_t i = 0; i < comparer->peaks.count; i++) {
		struct gmt_job_rank *rank = &job->ranks.items[comparer->peaks.items[i].rank];

		for (uint32_t g = 0; g < job->group_count; g++) {
			const struct gmt_job_group *group = &job->groups[g];
			bool is_in = have_roles(comparer)
				? group->role == rank->launch.role
				: rank->peak_bytes >= group->peaks.min && rank->peak_bytes <= group->peaks.max;

			if (is_in)
				rank->group = g;
		}
	}
	return true;
}

/* Returns the group whose lines are most like those of a rank. */
static uint32_t find_nearest_group(const struct gmt_job *job, uint32_t rank)
{
	uint32_t best = 0, best_lines = UINT32_MAX;

	for (uint32_t g = 0; g < job->group_count; g++) {
		uint32_t lines = gmt_job_count_differences(job, rank, job->groups[g].median_rank);

		if (lines < best_lines) {
			best = g;
			best_lines = lines;
		}
	}
	return best;
}

static bool find_outliers(struct gmt_job *job)
{
	for (uint32_t i = 0; i < job->ranks.count && job->group_count; i++) {
		struct gmt_job_rank *rank = &job->ranks.items[i];
		struct gmt_job_difference *difference;
		uint32_t group = rank->group;

		if (!rank->account)
			continue;
		if (group == GMT_JOB_NONE)
			group = find_nearest_group(job, i);
		else if (!gmt_spread_is_outlier(&job->groups[group].peaks, rank->peak_bytes))
			continue;
		rank->is_outlier = true;
		difference = gmt_vec_push(&job->outliers);
		if (!difference)
			return false;
		*difference = (struct gmt_job_difference){
			.rank = i,
			.other = job->groups[group].median_rank,
			.bytes = (int64_t)(rank->peak_bytes -
				job->ranks.items[job->groups[group].median_rank].peak_bytes),
		};
	}
	if (job->outliers.count)
		qsort(job->outliers.items, job->outliers.count, sizeof(*job->outliers.items),
			compare_differences);
	for (size_t i = 0; i < job->outliers.count && i < OUTLIERS_EXPLAINED; i++)
		gmt_job_explain(job, job->outliers.items[i].rank, job->outliers.items[i].other,
			&job->outliers.items[i]);
	return true;
}

static bool find_balance(struct gmt_job *job)
{
	for (uint32_t g = 1; g < job->group_count; g++) {
		struct gmt_job_difference *difference = gmt_vec_push(&job->balance);

		if (!difference)
			return false;
		gmt_job_explain(job, job->groups[g].median_rank, job->groups[0].median_rank, difference);
	}
	return true;
}

bool gmt_job_compare(struct gmt_job *job)
{
	struct comparer comparer = { .job = job };
	bool done;

	choose_layer(job);
	done = collect(&comparer);
	if (done)
		find_spread(&comparer);
	done = done && find_groups(&comparer) && find_outliers(job) && find_balance(job);
	gmt_vec_fini(&comparer.peaks);
	gmt_vec_fini(&comparer.values);
	return done;
}

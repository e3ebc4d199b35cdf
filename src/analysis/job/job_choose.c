/* SPDX-License-Identifier: MIT */
/* Chooses the processes of the job, and the one that stands for each rank. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job_make.h"

enum {
	OTHER_JOBS_NAMED = 3,
	MAX_COMPARED = 256, /* processes of one rank; older ones count as earlier attempts */
};

struct candidate {
	const struct gmt_process_summary *summary;
	struct gmt_launch launch;
};

struct key {
	uint32_t key, count;
};

struct chooser {
	struct gmt_job *job;
	GMT_VEC(struct candidate) candidates;
	GMT_VEC(struct key) keys; /* of all jobs */
};

static uint64_t end_of(const struct gmt_process_summary *summary)
{
	return summary->start_time_ns + summary->duration_ns;
}

static uint64_t peak_of(const struct gmt_process_summary *summary)
{
	const struct gmt_summarized_account *account = gmt_process_account(summary);

	return account && account->device >= 0 ? account->peak_bytes : 0;
}

/* By rank, then the newest attempt first. Without ranks: by host and process. */
static int compare(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->launch.rank != right->launch.rank)
		return left->launch.rank < right->launch.rank ? -1 : 1;
	if (left->launch.rank < 0 && left->summary->host != right->summary->host)
		return left->summary->host < right->summary->host ? -1 : 1;
	if (left->launch.rank < 0 && left->summary->pid != right->summary->pid)
		return left->summary->pid < right->summary->pid ? -1 : 1;
	if (left->launch.attempt != right->launch.attempt)
		return left->launch.attempt > right->launch.attempt ? -1 : 1;
	if (left->summary->start_time_ns != right->summary->start_time_ns)
		return left->summary->start_time_ns > right->summary->start_time_ns ? -1 : 1;
	return strcmp(left->summary->path, right->summary->path);
}

static bool collect(struct chooser *chooser, const struct gmt_job_input *input)
{
	for (size_t i = 0; i < input->count; i++) {
		struct candidate *candidate = gmt_vec_push(&chooser->candidates);
		size_t k = 0;

		if (!candidate)
			return false;
		candidate->summary = &input->summaries[i];
		if (!gmt_launch_init(input->store, candidate->summary, &candidate->launch))
			return false;
		while (k < chooser->keys.count && chooser->keys.items[k].key != candidate->launch.key)
			k++;
		if (k == chooser->keys.count) {
			struct key *key = gmt_vec_push(&chooser->keys);

			if (!key)
				return false;
			*key = (struct key){ .key = candidate->launch.key };
		}
		chooser->keys.items[k].count++;
	}
	return true;
}

/* Returns false if no process is of the wanted job. */
static bool choose_key(struct chooser *chooser, const char *wanted)
{
	const struct key *best = NULL;

	for (size_t k = 0; k < chooser->keys.count; k++) {
		const struct key *key = &chooser->keys.items[k];

		if (wanted && !strstr(gmt_job_text_of(chooser->job->store, key->key), wanted))
			continue;
		if (!best || key->count > best->count)
			best = key;
	}
	if (best)
		chooser->job->key = best->key;
	return best;
}

static bool remark_other_jobs(struct chooser *chooser)
{
	struct gmt_job *job = chooser->job;
	uint64_t named = 0, jobs = 0, files = 0;

	for (size_t k = 0; k < chooser->keys.count; k++) {
		const struct key *key = &chooser->keys.items[k];

		if (key->key == job->key)
			continue;
		if (named == OTHER_JOBS_NAMED) {
			jobs++;
			files += key->count;
			continue;
		}
		named++;
		if (!gmt_job_remark(job, "%" PRIu32 " file%s of another job left out: %.200s", key->count,
				gmt_job_plural(key->count), gmt_job_text_of(job->store, key->key)))
			return false;
	}
	return !jobs ||
		gmt_job_remark(job, "%" PRIu64 " files of %" PRIu64 " further jobs left out", files, jobs);
}

/* Keeps the processes of the job, without copies of the same recording. */
static bool keep_own(struct chooser *chooser)
{
	struct gmt_job *job = chooser->job;
	size_t kept = 0, copies = 0, without_rank = 0;

	for (size_t i = 0; i < chooser->candidates.count; i++) {
		struct candidate *candidate = &chooser->candidates.items[i];

		if (candidate->launch.key != job->key)
			continue;
		job->has_ranks |= candidate->launch.rank >= 0;
		chooser->candidates.items[kept++] = *candidate;
	}
	chooser->candidates.count = kept;
	if (kept)
		qsort(chooser->candidates.items, kept, sizeof(*chooser->candidates.items), compare);
	kept = 0;
	for (size_t i = 0; i < chooser->candidates.count; i++) {
		struct candidate *candidate = &chooser->candidates.items[i];
		const struct gmt_process_summary *before =
			kept ? chooser->candidates.items[kept - 1].summary : NULL;

		if (job->has_ranks && candidate->launch.rank < 0) {
			without_rank++;
			continue;
		}
		/* The sort has put copies next to each other. */
		if (before && before->pid == candidate->summary->pid &&
			before->host == candidate->summary->host &&
			before->start_time_ns == candidate->summary->start_time_ns &&
			before->recording == candidate->summary->recording) {
			copies++;
			continue;
		}
		chooser->candidates.items[kept++] = *candidate;
	}
	chooser->candidates.count = kept;
	return (!copies ||
			   gmt_job_remark(job, "%zu file%s left out: the same process as in another file",
				   copies, gmt_job_plural(copies))) &&
		(!without_rank ||
			gmt_job_remark(job, "%zu process%s without a rank left out", without_rank,
				without_rank == 1 ? "" : "es"));
}

/*
 * Returns whether two processes do different work for one rank: they ran at the same time, one
 * started the other, or one script started both with different commands.
 */
static bool work_together(const struct gmt_process_summary *before,
	const struct gmt_process_summary *after)
{
	bool is_same_command =
		before->executable == after->executable && before->command == after->command;

	return before->host == after->host &&
		(end_of(before) > after->start_time_ns || before->parent_pid == after->pid ||
			after->parent_pid == before->pid ||
			(before->parent_pid == after->parent_pid && !is_same_command));
}

/* Returns whether a process is an earlier try of what a later one does. */
static bool is_earlier_try(const struct candidate *earlier, const struct candidate *later)
{
	return earlier->launch.attempt < later->launch.attempt ||
		!work_together(earlier->summary, later->summary);
}

/*
 * Chooses the process that stands for a rank, among `count` of the same rank with the newest first.
 * The processes that no later one repeats are of the newest attempt. The one with the highest peak
 * counts; the others are helpers, such as loaders of data or a short test before the training,
 * which have inherited the rank.
 */
static bool add_rank(struct chooser *chooser, const struct candidate *same, size_t count)
{
	struct gmt_job_rank *rank = gmt_vec_push(&chooser->job->ranks);
	const struct candidate *best = NULL;

	if (!rank)
		return false;
	*rank = (struct gmt_job_rank){ .group = GMT_JOB_NONE };
	for (size_t i = 0; i < count; i++) {
		bool is_repeated = i >= MAX_COMPARED;

		for (size_t later = 0; later < i && !is_repeated; later++)
			is_repeated = is_earlier_try(&same[i], &same[later]);
		if (is_repeated) {
			rank->restarts++;
			continue;
		}
		rank->helpers += best != NULL;
		if (!best || peak_of(same[i].summary) > peak_of(best->summary))
			best = &same[i];
	}
	rank->summary = best->summary;
	rank->launch = best->launch;
	if (best->launch.world_size > chooser->job->world_size)
		chooser->job->world_size = best->launch.world_size;
	return true;
}

static bool add_ranks(struct chooser *chooser)
{
	const struct candidate *items = chooser->candidates.items;

	for (size_t i = 0; i < chooser->candidates.count;) {
		size_t end = i + 1;

		while (chooser->job->has_ranks && end < chooser->candidates.count &&
			items[end].launch.rank == items[i].launch.rank)
			end++;
		if (!add_rank(chooser, &items[i], end - i))
			return false;
		i = end;
	}
	return true;
}

static bool remark_repeats(struct gmt_job *job)
{
	uint64_t helpers = 0, restarts = 0;
	uint32_t most_restarts = 0, restarted = 0;

	for (size_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_job_rank *rank = &job->ranks.items[i];

		helpers += rank->helpers;
		restarts += rank->restarts;
		restarted += rank->restarts > 0;
		if (rank->restarts > most_restarts)
			most_restarts = rank->restarts;
	}
	return (!restarts ||
			   gmt_job_remark(job,
				   "%" PRIu32 " rank%s restarted up to %" PRIu32
				   " time%s: the newest attempt counts, %" PRIu64 " older file%s left out",
				   restarted, gmt_job_plural(restarted), most_restarts,
				   gmt_job_plural(most_restarts), restarts, gmt_job_plural(restarts))) &&
		(!helpers ||
			gmt_job_remark(job,
				"%" PRIu64
				" process%s with the rank of another one left out: the highest peak counts",
				helpers, helpers == 1 ? "" : "es"));
}

/* A forged file may claim any number of ranks, so the list of missing ranks is limited. */
static bool find_missing(struct gmt_job *job)
{
	enum { MAX_RANKS = 1 << 20 };
	int64_t known = job->ranks.count ? job->ranks.items[job->ranks.count - 1].launch.rank + 1 : 0;
	int64_t world = job->world_size > known ? job->world_size : known;
	size_t next = 0;

	if (!job->has_ranks)
		return true;
	if (world > MAX_RANKS)
		return gmt_job_remark(job, "missing ranks were not looked for: %" PRId64 " ranks", world);
	for (int64_t rank = 0; rank < world; rank++) {
		uint32_t *missing;

		if (next < job->ranks.count && job->ranks.items[next].launch.rank == rank) {
			next++;
			continue;
		}
		missing = gmt_vec_push(&job->missing);
		if (!missing)
			return false;
		*missing = (uint32_t)rank;
	}
	return true;
}

/* MPMD: processes of several programs have the program as their role. */
static bool name_roles(struct gmt_job *job)
{
	uint32_t none = gmt_job_intern_text(job->store, "", 0);
	bool differ = false, has_roles = false;

	for (size_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_job_rank *rank = &job->ranks.items[i];

		differ |= rank->summary->program != job->ranks.items[0].summary->program;
		has_roles |= rank->launch.role != none;
	}
	for (size_t i = 0; differ && !has_roles && i < job->ranks.count; i++)
		job->ranks.items[i].launch.role = job->ranks.items[i].summary->program;
	return none != UINT32_MAX;
}

enum gmt_status gmt_job_choose(struct gmt_job *job, const struct gmt_job_input *input,
	struct gmt_error *error)
{
	struct chooser chooser = { .job = job };
	enum gmt_status status = GMT_OK;

	if (!collect(&chooser, input))
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	else if (!choose_key(&chooser, input->wanted))
		status = gmt_error_set(error, GMT_NO_FILE, "no file is of job `%.200s`",
			input->wanted ? input->wanted : "");
	else if (!remark_other_jobs(&chooser) || !keep_own(&chooser) || !add_ranks(&chooser) ||
		!remark_repeats(job) || !find_missing(job) || !name_roles(job))
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_vec_fini(&chooser.candidates);
	gmt_vec_fini(&chooser.keys);
	return status;
}

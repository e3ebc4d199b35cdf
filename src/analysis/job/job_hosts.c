/* SPDX-License-Identifier: MIT */
/* Sums the peaks of each host, and finds devices that several processes share. */
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job_make.h"

/* A process that uses a device. */
struct device_user {
	uint32_t host, uuid;
	uint64_t begin_ns, end_ns;
	uint64_t peak_bytes;
	uint32_t rank;
};

struct device_users { /* Layout of a GMT_VEC. */
	struct device_user *items;
	size_t count, capacity;
};

static int compare_hosts(const void *a, const void *b)
{
	const struct gmt_job_host *left = a, *right = b;

	if (left->peak_bytes != right->peak_bytes)
		return left->peak_bytes > right->peak_bytes ? -1 : 1;
	return (left->host > right->host) - (left->host < right->host);
}

static int compare_by_name(const void *a, const void *b)
{
	const struct gmt_job_host *left = a, *right = b;

	return (left->host > right->host) - (left->host < right->host);
}

static int compare_users(const void *a, const void *b)
{
	const struct device_user *left = a, *right = b;

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	if (left->uuid != right->uuid)
		return left->uuid < right->uuid ? -1 : 1;
	if (left->begin_ns != right->begin_ns)
		return left->begin_ns < right->begin_ns ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

static int compare_shared(const void *a, const void *b)
{
	const struct gmt_job_shared *left = a, *right = b;

	if (left->processes != right->processes)
		return left->processes > right->processes ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Returns what the process held at the peaks of all its devices, in the job's layer. */
static uint64_t all_devices(const struct gmt_job *job, const struct gmt_process_summary *summary)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < summary->account_count; i++)
		if (summary->accounts[i].layer == job->layer && summary->accounts[i].device >= 0)
			bytes += summary->accounts[i].peak_bytes;
	return bytes;
}

static bool add_up_hosts(struct gmt_job *job)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->ranks.count; i++) {
		struct gmt_job_host *host = gmt_vec_push(&job->hosts);
		uint64_t bytes = all_devices(job, job->ranks.items[i].summary);

		if (!host)
			return false;
		*host = (struct gmt_job_host){ job->ranks.items[i].summary->host, 1, bytes };
		job->sum_peak_bytes += bytes;
	}
	if (!job->hosts.count)
		return true;
	qsort(job->hosts.items, job->hosts.count, sizeof(*job->hosts.items), compare_by_name);
	for (size_t i = 0; i < job->hosts.count; i++) {
		const struct gmt_job_host *host = &job->hosts.items[i];

		if (kept && job->hosts.items[kept - 1].host == host->host) {
			job->hosts.items[kept - 1].ranks++;
			job->hosts.items[kept - 1].peak_bytes += host->peak_bytes;
		} else
			job->hosts.items[kept++] = *host;
	}
	job->hosts.count = kept;
	qsort(job->hosts.items, kept, sizeof(*job->hosts.items), compare_hosts);
	return true;
}

static uint32_t uuid_of(const struct gmt_job *job, const struct gmt_process_summary *summary,
	int16_t device)
{
	for (uint32_t i = 0; i < summary->device_count; i++)
		if ((int64_t)summary->devices[i].ordinal == device &&
			*gmt_job_text_of(job->store, summary->devices[i].uuid))
			return summary->devices[i].uuid;
	return UINT32_MAX;
}

/* Driver memory and PyTorch's blocks in it are one use of a device: the larger one counts. */
static bool add_users(const struct gmt_job *job, uint32_t rank, struct device_users *users)
{
	const struct gmt_process_summary *summary = job->ranks.items[rank].summary;
	size_t first = users->count;

	for (uint32_t i = 0; i < summary->account_count; i++) {
		const struct gmt_summarized_account *account = &summary->accounts[i];
		uint32_t uuid = account->device >= 0 && account->peak_bytes
			? uuid_of(job, summary, account->device)
			: UINT32_MAX;
		size_t known = first;
		struct device_user *user;

		if (uuid == UINT32_MAX)
			continue;
		while (known < users->count && users->items[known].uuid != uuid)
			known++;
		user = known < users->count ? &users->items[known] : gmt_vec_push(users);
		if (!user)
			return false;
		if (known + 1 == users->count && user->uuid != uuid)
			*user = (struct device_user){ 0 };
		user->host = summary->host;
		user->uuid = uuid;
		user->rank = rank;
		user->begin_ns = summary->start_time_ns;
		user->end_ns = summary->start_time_ns + summary->duration_ns;
		if (account->peak_bytes > user->peak_bytes)
			user->peak_bytes = account->peak_bytes;
	}
	return true;
}

/* Counts the users of one device that overlap in time with its first user. */
static bool add_shared(struct gmt_job *job, const struct device_user *users, size_t count)
{
	struct gmt_job_shared shared = {
		.host = users->host, .uuid = users->uuid, .rank = users->rank
	};
	uint64_t end_ns = users->end_ns;

	for (size_t i = 0; i < count; i++) {
		if (i && users[i].begin_ns >= end_ns)
			continue;
		end_ns = users[i].end_ns > end_ns ? users[i].end_ns : end_ns;
		shared.processes++;
		shared.peak_bytes += users[i].peak_bytes;
	}
	if (shared.processes > 1) {
		struct gmt_job_shared *row = gmt_vec_push(&job->shared);

		if (!row)
			return false;
		*row = shared;
	}
	return true;
}

static bool find_shared(struct gmt_job *job)
{
	struct device_users users = { 0 };
	bool done = true;

	for (uint32_t i = 0; done && i < job->ranks.count; i++)
		done = add_users(job, i, &users);
	if (done && users.count)
		qsort(users.items, users.count, sizeof(*users.items), compare_users);
	for (size_t i = 0; done && i < users.count;) {
		size_t end = i + 1;

		while (end < users.count && users.items[end].host == users.items[i].host &&
			users.items[end].uuid == users.items[i].uuid)
			end++;
		done = add_shared(job, &users.items[i], end - i);
		i = end;
	}
	gmt_vec_fini(&users);
	if (done && job->shared.count)
		qsort(job->shared.items, job->shared.count, sizeof(*job->shared.items), compare_shared);
	return done;
}

bool gmt_job_find_hosts(struct gmt_job *job)
{
	return add_up_hosts(job) && find_shared(job);
}

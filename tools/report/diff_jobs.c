/* SPDX-License-Identifier: MIT */
#include "tools/report/diff_jobs.h"

#include "render/job_diff.h"
#include "tools/output/message.h"
#include "tools/output/exit_codes.h"
#include "tools/report/job_files.h"

/* One job and its files. */
struct side {
	struct gmt_job_files files;
	struct gmt_job job;
};

/* Reads a folder and makes its job. Returns 0 or an exit code. */
static int make_side(struct side *side, const char *folder, const struct gmt_traces_options *traces)
{
	char *operand = (char *)(uintptr_t)folder;
	struct gmt_error error = { 0 };
	int code = gmt_job_files_find(&side->files, 1, &operand);
	int answer = gmt_job_files_read(&side->files, traces);

	code = answer ? answer : code;
	for (size_t i = 0; i < side->files.remarks.count; i++)
		gmt_message_hint("%s", side->files.remarks.items[i]);
	if (!code && !side->files.summaries.count) {
		gmt_message_error("diff: %s: no recording or summary was read", folder);
		code = GMT_EXIT_UNREADABLE;
	}

	const struct gmt_job_input input = {
		.store = &side->files.store,
		.summaries = side->files.summaries.items,
		.count = side->files.summaries.count,
	};
	if (!code && gmt_job_init(&side->job, &input, &error))
		code = gmt_message_failure(&error);
	return code;
}

static int compare(const struct gmt_diff_jobs *jobs, const struct side *sides, FILE *file,
	bool *ret_differs)
{
	struct gmt_job_diff diff = { 0 };
	const struct gmt_job_diff_view view = {
		.diff = &diff,
		.paths = { jobs->folders[0], jobs->folders[1] },
		.limit = jobs->limit,
		.threshold_bytes = jobs->threshold_bytes,
		.color = jobs->color,
	};
	struct gmt_json json = { .file = file };
	bool done = gmt_job_diff_init(&diff, &sides[0].job, &sides[1].job);

	*ret_differs = diff.only[0].count || diff.only[1].count;
	for (size_t i = 0; i < diff.ranks.count; i++) {
		int64_t bytes = diff.ranks.items[i].bytes;
		uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;

		*ret_differs |= size && size >= jobs->threshold_bytes;
	}
	if (done && jobs->json) {
		gmt_job_diff_json(&view, &json);
		fputc('\n', file);
	} else if (done) {
		done = gmt_job_diff_text(&view, file);
	}
	gmt_job_diff_fini(&diff);
	if (!done)
		gmt_message_error("out of memory");
	return done ? 0 : GMT_EXIT_UNREADABLE;
}

int gmt_diff_jobs(const struct gmt_diff_jobs *jobs, FILE *file, bool *ret_differs,
	bool *ret_incomplete)
{
	struct side sides[2] = { 0 };
	int code = 0;

	*ret_differs = *ret_incomplete = false;
	for (int i = 0; !code && i < 2; i++)
		code = make_side(&sides[i], jobs->folders[i], jobs->traces);
	if (!code)
		code = compare(jobs, sides, file, ret_differs);
	for (int i = 0; i < 2; i++) {
		*ret_incomplete |= sides[i].job.incomplete > 0;
		gmt_job_fini(&sides[i].job);
		gmt_job_files_fini(&sides[i].files);
	}
	return code;
}

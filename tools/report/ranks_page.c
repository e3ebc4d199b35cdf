/* SPDX-License-Identifier: MIT */
#include "tools/report/ranks_page.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/tables/tables.h"
#include "containers/arena.h"
#include "containers/vec.h"
#include "tools/output/document_stream.h"
#include "tools/output/message.h"
#include "tools/output/terminal.h"
#include "tools/pipeline/allocator_state_results.h"
#include "tools/pipeline/pipeline.h"
#include "tools/pipeline/work_limit.h"
#include "tools/report/page_document.h"
#include "tools/report/report_each_parallel.h"
#include "tools/report/report_page.h"
#include "tools/report/render_inputs.h"

enum { FRAMES = 6 }; /* of a stack, in the text for a browser without scripts */

/* The recordings in the page. */
struct chosen {
	const struct gmt_ranks_page *pages;
	const struct gmt_job *job;
	int32_t *of_rank; /* number of each rank's recording in the page, or a GMT_RANKS constant */
	uint64_t count;
	GMT_VEC(char *) paths; /* of the recordings, by number */
	struct gmt_arena arena;
};

enum { IS_CHOSEN = 0 }; /* in of_rank, before number_all */

/* Chooses a rank's recording for the page, if the page is not full and the recording exists. */
static void choose(struct chosen *chosen, uint32_t index)
{
	if (index == GMT_JOB_NONE || chosen->of_rank[index] != GMT_RANKS_NOT_IN_PAGE ||
		chosen->count >= chosen->pages->max_recordings)
		return;
	chosen->of_rank[index] = IS_CHOSEN;
	chosen->count++;
}

/* Chooses recordings, first those of the ranks that stand out. */
static void choose_all(struct chosen *chosen)
{
	const struct gmt_job *job = chosen->job;
	char path[GMT_JOB_PATH];

	for (size_t i = 0; i < job->ranks.count; i++) {
		gmt_job_recording_path(job, &job->ranks.items[i], path);
		chosen->of_rank[i] =
			access(path, R_OK) == 0 ? GMT_RANKS_NOT_IN_PAGE : GMT_RANKS_NO_RECORDING;
	}
	choose(chosen, job->first_failure.rank);
	choose(chosen, job->first_killed);
	choose(chosen, job->first_grown);
	if (job->outliers.count)
		choose(chosen, job->outliers.items[0].rank);
	for (uint32_t g = 0; g < job->group_count; g++)
		choose(chosen, job->groups[g].median_rank);
	for (size_t i = 0; i < job->outliers.count; i++)
		choose(chosen, job->outliers.items[i].rank);
	if (job->ranks.count <= chosen->pages->max_recordings)
		for (uint32_t i = 0; i < job->ranks.count; i++)
			choose(chosen, i);
}

/* Numbers the chosen recordings in the order of the ranks. Returns false when out of memory. */
static bool number_all(struct chosen *chosen)
{
	char path[GMT_JOB_PATH];

	if (!gmt_vec_reserve(&chosen->paths, chosen->count + 1))
		return false;
	for (size_t i = 0; i < chosen->job->ranks.count; i++) {
		char **to = &chosen->paths.items[chosen->paths.count];

		if (chosen->of_rank[i] != IS_CHOSEN)
			continue;
		gmt_job_recording_path(chosen->job, &chosen->job->ranks.items[i], path);
		*to = gmt_arena_copy(&chosen->arena, path, strlen(path));
		if (!*to)
			return false;
		chosen->of_rank[i] = (int32_t)chosen->paths.count++;
	}
	return true;
}

/* Returns the number of a recording in the page. */
static unsigned number_of(const struct chosen *chosen, const char *path)
{
	unsigned number = 0;

	while (chosen->paths.items[number] != path)
		number++;
	return number;
}

static bool render(struct gmt_pipeline *pipeline,
	struct gmt_allocator_state_results *allocator_state, unsigned number, FILE *parts)
{
	struct gmt_leaks_view leaks = gmt_leaks_view_of(pipeline);
	struct gmt_report report = gmt_report_of(pipeline, &leaks, &allocator_state->view);

	leaks.step_parts = &pipeline->step_parts;
	leaks.phase_memory = &pipeline->phase_memory;
	leaks.frames = FRAMES;
	leaks.is_bounded = true;
	leaks.brief = true;
	report.limit = UINT64_MAX;
	report.frames = FRAMES;
	report.columns = gmt_terminal_columns(parts);
	report.is_utf8 = true;
	report.all_lists = true;
	report.order = GMT_SITES_BY_PEAK;
	report.sections = GMT_REPORT_SECTION_BIT(SUMMARY);
	allocator_state->view.limit = UINT64_MAX;
	return gmt_report_page_write(&pipeline->page, &report, number, parts);
}

/* Writes the parts of one recording. */
static int write_recording(const void *user, const char *path,
	struct gmt_report_each_output *output)
{
	const struct chosen *chosen = user;
	const struct gmt_pipeline_options options = {
		.traces = *chosen->pages->traces,
		.leaks = gmt_pipeline_default_leaks,
		.wants_report_details = true,
		.wants_page = true,
	};
	struct gmt_pipeline pipeline = { 0 };
	struct gmt_allocator_state_results allocator_state = { 0 };
	struct gmt_error error = { 0 };
	int code = gmt_pipeline_load(path, &options, &pipeline);

	if (!code &&
		gmt_allocator_state_results_compute(&allocator_state, &pipeline, -1, GMT_SITES_BY_PEAK,
			&error))
		code = gmt_message_failure(&error);
	if (!code && !render(&pipeline, &allocator_state, number_of(chosen, path), output->file)) {
		gmt_error_set(&error, GMT_NO_MEMORY, "out of memory");
		code = gmt_message_failure(&error);
	}
	if (code)
		gmt_report_page_write_unreadable(path, output->file);
	gmt_allocator_state_results_fini(&allocator_state);
	gmt_pipeline_fini(&pipeline);
	gmt_work_limit_report(path);
	return code;
}

/* Writes the parts of all chosen recordings. Returns an exit code. */
static int write_recordings(const struct chosen *chosen, FILE *parts)
{
	const struct gmt_report_each_options options = { 0 };
	const struct gmt_report_each files = { .count = (int)chosen->paths.count,
		.paths = chosen->paths.items,
		.options = &options,
		.report = write_recording,
		.context = chosen };
	struct gmt_report_each_output output = { .file = parts };
	struct gmt_report_each_parallel *parallel = gmt_report_each_parallel_open(&files, &output);
	int code = 0;

	for (int i = 0; i < files.count; i++) {
		int answer = 0;

		if (!gmt_report_each_parallel_take(parallel, i, &output, &answer))
			answer = write_recording(chosen, files.paths[i], &output);
		code = answer ? answer : code;
	}
	gmt_report_each_parallel_close(parallel);
	return code;
}

/* Writes a part of the page about the job. Returns false when out of memory. */
static bool write_job_part(const struct chosen *chosen, enum gmt_page_part part, FILE *parts)
{
	const struct gmt_ranks_view *view = chosen->pages->view;
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	bool done = stream &&
		(part == GMT_PAGE_PART_SUMMARY ? gmt_ranks_page_summary(view, stream)
									   : gmt_ranks_page_packet(view, chosen->of_rank, stream));

	if (stream)
		done &= !fclose(stream);
	if (done)
		gmt_page_part_write(parts, part, text, length);
	free(text);
	return done;
}

/* Writes all parts, then the page. Returns the same as gmt_ranks_page_write. */
static int write_page(const struct chosen *chosen, FILE *document)
{
	FILE *parts = gmt_document_temporary();
	int code = 0;
	bool done = parts && write_job_part(chosen, GMT_PAGE_PART_SUMMARY, parts) &&
		write_job_part(chosen, GMT_PAGE_PART_PACKETS, parts);

	if (done) {
		code = write_recordings(chosen, parts);
		done = !fflush(parts) && !ferror(parts) && gmt_page_document_write(parts, document);
	}
	if (parts)
		fclose(parts);
	if (done)
		return code;
	gmt_message_error("out of memory");
	return -1;
}

int gmt_ranks_page_write(const struct gmt_ranks_page *pages, FILE *document)
{
	const struct gmt_job *job = pages->view->job;
	struct chosen chosen = { .pages = pages, .job = job };
	int code = -1;

	chosen.of_rank = calloc(job->ranks.count + 1, sizeof(*chosen.of_rank));
	if (chosen.of_rank)
		choose_all(&chosen);
	if (!chosen.of_rank || !number_all(&chosen))
		gmt_message_error("out of memory");
	else
		code = write_page(&chosen, document);
	free(chosen.of_rank);
	gmt_vec_fini(&chosen.paths);
	gmt_arena_fini(&chosen.arena);
	return code;
}

/* SPDX-License-Identifier: MIT */
#include "render/ranks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "render/text/ranks_table.h"

enum {
	LABEL = 16, /* columns of the labels at the left */
	REMARKS_SHOWN = 2,
	OUTLIERS_SHOWN = 2,
	KEY_COLUMNS = 32, /* of the name of a job */
	RANK_LIST_BYTES = 28, /* of a list of ranks */
};

static void write_label(struct gmt_ranks_writer *writer, const char *label)
{
	gmt_ranks_write(writer, "%-*s", LABEL, label);
}

static void write_text(struct gmt_ranks_writer *writer, uint32_t text)
{
	gmt_console_text(&writer->screen.line, gmt_job_text_of(writer->job->store, text));
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static uint64_t absolute(int64_t bytes)
{
	return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

/* Writes "30 %" of a base; nothing if the base is 0. */
static void write_share(struct gmt_ranks_writer *writer, int64_t bytes, uint64_t base)
{
	if (base)
		gmt_ranks_write(writer, " (%.0f %%)", 100.0 * (double)absolute(bytes) / (double)base);
}

static void write_place(struct gmt_ranks_writer *writer, uint32_t id)
{
	const struct gmt_job_place *place = gmt_job_place_of(writer->job->store, id);
	const char *file = gmt_job_text_of(writer->job->store, place->file);
	const char *function = gmt_job_text_of(writer->job->store, place->function);

	gmt_screen_begin_path(&writer->screen);
	gmt_console_text(&writer->screen.line, file);
	gmt_screen_end_path(&writer->screen);
	if (*file && place->line)
		gmt_ranks_write(writer, ":%" PRIu32, place->line);
	if (*function)
		gmt_ranks_write(writer, "%s", *file ? " in " : "");
	gmt_console_text(&writer->screen.line, function);
	if (!*file && !*function)
		gmt_ranks_write(writer, "no stack was recorded");
}

/* Writes the job's name. torchrun's run ids would leave no room for the number of ranks. */
static void write_key(struct gmt_ranks_writer *writer)
{
	const char *key = gmt_job_text_of(writer->job->store, writer->job->key);
	char start[KEY_COLUMNS + 1];

	if (writer->view->is_full || strlen(key) <= KEY_COLUMNS) {
		gmt_console_text(&writer->screen.line, key);
		return;
	}
	snprintf(start, sizeof(start), "%.*s...", KEY_COLUMNS - 3, key);
	gmt_console_text(&writer->screen.line, start);
}

static void write_title(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	uint64_t all = job->ranks.count + job->missing.count;

	if (job->ranks.count)
		write_text(writer, job->ranks.items[0].summary->program);
	gmt_ranks_write(writer, ", ");
	write_key(writer);
	gmt_ranks_write(writer, ": ");
	if (job->missing.count)
		gmt_ranks_write(writer, "%s of ", gmt_text_count(job->ranks.count).text);
	gmt_ranks_write(writer, "%s %s%s on %s host%s", gmt_text_count(all).text,
		job->has_ranks ? "rank"
			: all == 1 ? "process"
					   : "processe",
		plural(all), gmt_text_count(job->hosts.count).text, plural(job->hosts.count));
	if (job->most_steps && job->least_steps != job->most_steps)
		gmt_ranks_write(writer, ", %s to %s steps", gmt_text_count(job->least_steps).text,
			gmt_text_count(job->most_steps).text);
	else if (job->most_steps)
		gmt_ranks_write(writer, ", %s step%s", gmt_text_count(job->most_steps).text,
			plural(job->most_steps));
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_BOLD);
}

static void write_missing(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	char list[RANK_LIST_BYTES];

	if (!job->has_ranks)
		return;
	write_label(writer, "missing");
	if (!job->missing.count) {
		gmt_ranks_write(writer, "none%s",
			job->world_size < 0 ? ", if the highest rank is the last: no size was recorded" : "");
		gmt_ranks_end(writer);
		return;
	}
	gmt_job_list_ranks(job->missing.items, job->missing.count, list, sizeof(list));
	gmt_ranks_write(writer, "rank%s %s: no file", plural(job->missing.count), list);
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
}

static void write_spread(struct gmt_ranks_writer *writer, const char *label,
	const struct gmt_spread *spread)
{
	write_label(writer, label);
	gmt_ranks_write(writer, "%s to ", gmt_text_size(spread->min).text);
	gmt_ranks_write(writer, "%s", gmt_text_size(spread->max).text);
	gmt_ranks_write(writer, ", median %s", gmt_text_size(spread->median).text);
	gmt_ranks_write(writer, ", spread %s", gmt_text_size(spread->max - spread->min).text);
	write_share(writer, (int64_t)(spread->max - spread->min), spread->median);
	gmt_ranks_end(writer);
}

static void write_peaks(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;

	if (job->peaks.count)
		write_spread(writer, "peaks", &job->peaks);
	else {
		write_label(writer, "peaks");
		gmt_ranks_write(writer, "no rank held device memory");
		gmt_ranks_end(writer);
	}
	if (job->reserved.max)
		write_spread(writer, "reserved", &job->reserved);
}

/* Writes the lines of code that explain a difference, one below the other. */
static void write_lines(struct gmt_ranks_writer *writer,
	const struct gmt_job_difference *difference, uint32_t max_lines)
{
	if (!difference->line_count) {
		write_label(writer, "");
		gmt_ranks_write(writer, "  no line explains it");
		gmt_ranks_end(writer);
	}
	for (uint32_t i = 0; i < difference->line_count && i < max_lines; i++) {
		const struct gmt_job_line *line = &difference->lines[i];

		write_label(writer, "");
		gmt_ranks_write(writer, "  %c%s  ", line->bytes < 0 ? '-' : '+',
			gmt_text_size(absolute(line->bytes)).text);
		write_place(writer, line->place);
		gmt_ranks_end(writer);
	}
}

static void write_outliers(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	size_t shown = writer->view->is_full ? job->outliers.count : OUTLIERS_SHOWN;

	write_label(writer, "outliers");
	if (job->why_no_outliers) {
		gmt_ranks_write(writer, "not judged: %s", job->why_no_outliers);
		gmt_ranks_end(writer);
		return;
	}
	if (!job->outliers.count) {
		gmt_ranks_write(writer, "none");
		gmt_ranks_end(writer);
		return;
	}
	for (size_t i = 0; i < job->outliers.count && i < shown; i++) {
		const struct gmt_job_difference *difference = &job->outliers.items[i];

		if (i)
			write_label(writer, "");
		gmt_ranks_name(writer, difference->rank);
		gmt_ranks_write(writer, ": %s",
			gmt_text_size(job->ranks.items[difference->rank].peak_bytes).text);
		gmt_ranks_write(writer, ", %c%s", difference->bytes < 0 ? '-' : '+',
			gmt_text_size(absolute(difference->bytes)).text);
		write_share(writer, difference->bytes, job->ranks.items[difference->other].peak_bytes);
		gmt_ranks_write(writer, " compared with ");
		gmt_ranks_name(writer, difference->other);
		if (!i && job->outliers.count > shown)
			gmt_ranks_write(writer, "; %s more", gmt_text_count(job->outliers.count - shown).text);
		gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
		write_lines(writer, difference, writer->view->is_full ? GMT_JOB_LINES : 1);
	}
}

/* Writes the ranks of a group: "512 ranks (1536-2047): 4.75 GiB". */
static void write_group(struct gmt_ranks_writer *writer, uint32_t group)
{
	const struct gmt_job *job = writer->job;
	char list[RANK_LIST_BYTES] = "";
	uint32_t *ranks = malloc((job->ranks.count + 1) * sizeof(*ranks));
	size_t count = 0;

	for (size_t i = 0; ranks && i < job->ranks.count; i++)
		if (job->ranks.items[i].group == group)
			ranks[count++] =
				(uint32_t)(job->has_ranks ? job->ranks.items[i].launch.rank : (int64_t)i);
	if (ranks)
		gmt_job_list_ranks(ranks, count, list, sizeof(list));
	free(ranks);
	if (*gmt_job_text_of(job->store, job->groups[group].role)) {
		write_text(writer, job->groups[group].role);
		gmt_ranks_write(writer, ", ");
	}
	gmt_ranks_write(writer, "%s rank%s", gmt_text_count(job->groups[group].count).text,
		plural(job->groups[group].count));
	if (job->has_ranks)
		gmt_ranks_write(writer, " (%s)", list);
	gmt_ranks_write(writer, ": %s", gmt_text_size(job->groups[group].peaks.median).text);
}

/* Writes how a group differs from the largest one. `more` groups are not shown. */
static void write_other_group(struct gmt_ranks_writer *writer, uint32_t group, uint32_t more)
{
	const struct gmt_job *job = writer->job;
	const struct gmt_job_difference *difference = &job->balance.items[group - 1];

	write_label(writer, "");
	write_group(writer, group);
	gmt_ranks_write(writer, ", %c%s", difference->bytes < 0 ? '-' : '+',
		gmt_text_size(absolute(difference->bytes)).text);
	write_share(writer, difference->bytes, job->groups[0].peaks.median);
	if (more)
		gmt_ranks_write(writer, "; %" PRIu32 " more", more);
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
	write_lines(writer, difference, writer->view->is_full ? GMT_JOB_LINES : 1);
}

/* Returns the group whose peaks differ most from those of the largest one. */
static uint32_t most_different(const struct gmt_job *job)
{
	uint32_t largest_group = 1;

	for (uint32_t g = 2; g < job->group_count; g++)
		if (absolute(job->balance.items[g - 1].bytes) >
			absolute(job->balance.items[largest_group - 1].bytes))
			largest_group = g;
	return largest_group;
}

static void write_balance(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;

	write_label(writer, "balance");
	if (job->why_no_groups)
		gmt_ranks_write(writer, "not judged: %s", job->why_no_groups);
	else if (job->group_count == 1)
		gmt_ranks_write(writer, "%s rank%s have like peaks, around %s",
			gmt_text_count(job->groups[0].count).text, plural(job->groups[0].count),
			gmt_text_size(job->groups[0].peaks.median).text);
	if (job->group_count < 2) {
		gmt_ranks_end(writer);
		return;
	}
	gmt_ranks_write(writer, "%" PRIu32 " groups; ", job->group_count);
	write_group(writer, 0);
	gmt_ranks_end(writer);
	if (writer->view->is_full)
		for (uint32_t g = 1; g < job->group_count; g++)
			write_other_group(writer, g, 0);
	else
		write_other_group(writer, most_different(job), job->group_count - 2);
}

static void write_growth(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	const struct gmt_summarized_finding *growth;

	write_label(writer, "growth");
	if (!job->grown) {
		if (job->not_judged == job->ranks.count && job->why_not_judged)
			gmt_ranks_write(writer, "not judged: ");
		else if (job->not_judged)
			gmt_ranks_write(writer, "none found in %s ranks; %s not judged: ",
				gmt_text_count(job->ranks.count - job->not_judged).text,
				gmt_text_count(job->not_judged).text);
		else
			gmt_ranks_write(writer, "none found");
		if (job->not_judged)
			gmt_console_text(&writer->screen.line, job->why_not_judged);
		gmt_screen_end_wrapped(&writer->screen, GMT_CONSOLE_NORMAL, LABEL, 2);
		return;
	}
	growth = job->ranks.items[job->first_grown].growth;
	gmt_ranks_write(writer, "%s of %s ranks; first ", gmt_text_count(job->grown).text,
		gmt_text_count(job->ranks.count).text);
	gmt_ranks_name(writer, job->first_grown);
	gmt_ranks_write(writer, ", from step %" PRIu32, growth->first_step);
	if (job->not_judged)
		gmt_ranks_write(writer, "; %s not judged", gmt_text_count(job->not_judged).text);
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
	write_label(writer, "");
	if (growth->has_rate)
		gmt_ranks_write(writer, "  +%s a step  ", gmt_text_size(growth->step_bytes).text);
	else
		gmt_ranks_write(writer, "  +%s  ", gmt_text_size(growth->bytes).text);
	write_place(writer, growth->place);
	gmt_ranks_end(writer);
}

static void write_failure(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	const struct gmt_job_failure *moment = &job->first_failure;
	const struct gmt_summarized_refusal *failure;

	write_label(writer, "out of memory");
	if (moment->rank == GMT_JOB_NONE) {
		gmt_ranks_write(writer, "%s",
			job->failed ? "requests failed, but none has a record of its own" : "no");
		gmt_ranks_end(writer);
		return;
	}
	failure = job->ranks.items[moment->rank].failure;
	gmt_ranks_write(writer, "%s rank%s; first ", gmt_text_count(job->failed).text,
		plural(job->failed));
	gmt_ranks_name(writer, moment->rank);
	if (failure->has_step)
		gmt_ranks_write(writer, ", step %" PRIu32, failure->step);
	gmt_ranks_write(writer, ", asked for %s", gmt_text_size(failure->requested_bytes).text);
	gmt_ranks_write(writer, ", held %s", gmt_text_size(failure->live_bytes).text);
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
	write_label(writer, "");
	gmt_ranks_write(writer, "  ");
	write_place(writer, failure->place);
	gmt_ranks_end(writer);
	write_label(writer, "");
	if (moment->why_not)
		gmt_ranks_write(writer, "  what the others held then is not known: %s", moment->why_not);
	else {
		gmt_ranks_write(writer, "  %s others held %s", gmt_text_count(moment->others.count).text,
			gmt_text_size(moment->others.min).text);
		gmt_ranks_write(writer, " to %s", gmt_text_size(moment->others.max).text);
		gmt_ranks_write(writer, ", median %s", gmt_text_size(moment->others.median).text);
	}
	gmt_ranks_end(writer);
}

static void write_ends(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	bool any = false;

	write_label(writer, "ends");
	for (unsigned end = 0; end < GMT_PROCESS_ENDS; end++) {
		if (!job->ends[end])
			continue;
		gmt_ranks_write(writer, "%s%s %s", any ? ", " : "", gmt_text_count(job->ends[end]).text,
			gmt_process_end_words(end));
		any = true;
	}
	if (job->first_killed != GMT_JOB_NONE) {
		gmt_ranks_write(writer, "; killed first: ");
		gmt_ranks_name(writer, job->first_killed);
	}
	if (job->incomplete)
		gmt_ranks_write(writer, "; %s INCOMPLETE", gmt_text_count(job->incomplete).text);
	gmt_screen_end_line(&writer->screen,
		job->ends[GMT_PROCESS_END_CLEAN] == job->ranks.count ? GMT_CONSOLE_NORMAL
															 : GMT_CONSOLE_WARN);
}

/* Writes the device with the least free memory, among the devices that were asked. */
static void write_device_use(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;
	uint32_t fullest = GMT_JOB_NONE;
	double max_share = -1;

	for (uint32_t i = 0; i < job->ranks.count; i++) {
		const struct gmt_summarized_use *use = job->ranks.items[i].use;

		if (use && use->total_bytes &&
			(double)use->used_bytes / (double)use->total_bytes > max_share) {
			max_share = (double)use->used_bytes / (double)use->total_bytes;
			fullest = i;
		}
	}
	if (fullest == GMT_JOB_NONE)
		return;

	const struct gmt_summarized_use *use = job->ranks.items[fullest].use;
	write_label(writer, "device in use");
	gmt_ranks_write(writer, "at most %s", gmt_text_size(use->used_bytes).text);
	gmt_ranks_write(writer, " of %s, on ", gmt_text_size(use->total_bytes).text);
	gmt_ranks_name(writer, fullest);
	if (use->has_others && use->others_bytes)
		gmt_ranks_write(writer, "; other processes %s", gmt_text_size(use->others_bytes).text);
	gmt_ranks_end(writer);
}

static void write_sums(struct gmt_ranks_writer *writer)
{
	const struct gmt_job *job = writer->job;

	write_label(writer, "sums of peaks");
	gmt_ranks_write(writer, "job %s", gmt_text_size(job->sum_peak_bytes).text);
	if (job->hosts.count > 1) {
		const struct gmt_job_host *highest = &job->hosts.items[0];
		const struct gmt_job_host *least = &job->hosts.items[job->hosts.count - 1];

		gmt_ranks_write(writer, "; hosts %s (", gmt_text_size(least->peak_bytes).text);
		write_text(writer, least->host);
		gmt_ranks_write(writer, ") to %s (", gmt_text_size(highest->peak_bytes).text);
		write_text(writer, highest->host);
		gmt_ranks_write(writer, ")");
	}
	gmt_ranks_end(writer);
	if (!job->shared.count)
		return;
	write_label(writer, "shared GPUs");
	gmt_ranks_write(writer, "%s: %" PRIu32 " processes on ", gmt_text_count(job->shared.count).text,
		job->shared.items[0].processes);
	write_text(writer, job->shared.items[0].uuid);
	gmt_ranks_write(writer, " of ");
	write_text(writer, job->shared.items[0].host);
	gmt_ranks_write(writer, ", peaks %s", gmt_text_size(job->shared.items[0].peak_bytes).text);
	gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
}

static void write_remarks(struct gmt_ranks_writer *writer)
{
	const struct gmt_ranks_view *view = writer->view;
	size_t all = view->remark_count + writer->job->remarks.count;
	size_t shown = view->is_full || all <= REMARKS_SHOWN ? all : REMARKS_SHOWN;

	for (size_t i = 0; i < shown; i++) {
		write_label(writer, i ? "" : "left out, odd");
		gmt_console_text(&writer->screen.line,
			i < view->remark_count ? view->remarks[i]
								   : writer->job->remarks.items[i - view->remark_count]);
		if (i + 1 == shown && all > shown)
			gmt_ranks_write(writer, " (%zu more: --full)", all - shown);
		gmt_screen_end_line(&writer->screen, GMT_CONSOLE_WARN);
	}
}

bool gmt_ranks_text(const struct gmt_ranks_view *view, FILE *file)
{
	struct gmt_ranks_writer writer = {
		.view = view,
		.job = view->job,
		.screen = {
			.file = file,
			.color = view->color,
			.is_utf8 = view->is_utf8,
			.columns = view->columns,
		},
	};

	if (!gmt_screen_init(&writer.screen))
		return false;
	write_title(&writer);
	write_missing(&writer);
	write_peaks(&writer);
	write_outliers(&writer);
	write_balance(&writer);
	write_growth(&writer);
	write_failure(&writer);
	write_ends(&writer);
	write_device_use(&writer);
	write_sums(&writer);
	write_remarks(&writer);

	bool done = gmt_ranks_table(&writer);
	return gmt_screen_fini(&writer.screen) && done;
}

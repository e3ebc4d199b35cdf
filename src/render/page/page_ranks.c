/* SPDX-License-Identifier: MIT */
/* A job in the page: the object of `ranks --json`, and the curves of its ranks. */
#include <stdlib.h>
#include <string.h>

#include "render/page/packet.h"
#include "render/page/html_escape.h"
#include "render/ranks.h"

static size_t step_count(const struct gmt_job_rank *rank)
{
	/* A curve of other memory than the job's peaks cannot be compared. */
	return rank->account == gmt_process_account(rank->summary) ? rank->summary->step_count : 0;
}

static size_t time_count(const struct gmt_job_rank *rank)
{
	return rank->account == gmt_process_account(rank->summary) ? rank->summary->time_count : 0;
}

static void put_curves(struct gmt_packet *packet, const struct gmt_job *job)
{
#define PUT_RANKS(name, value) \
	gmt_packet_column(packet, name); \
	for (size_t i = 0; i < job->ranks.count; i++) { \
		const struct gmt_job_rank *rank = &job->ranks.items[i]; \
		gmt_packet_put(packet, value); \
	}
#define PUT_ROWS(name, count_of, curve, value) \
	gmt_packet_column(packet, name); \
	for (size_t i = 0; i < job->ranks.count; i++) \
		for (size_t r = 0; r < count_of(&job->ranks.items[i]); r++) \
			gmt_packet_put(packet, job->ranks.items[i].summary->curve[r].value);

	PUT_RANKS("rank.steps", step_count(rank))
	PUT_ROWS("step.first", step_count, step_curve, first_step)
	PUT_ROWS("step.peak_bytes", step_count, step_curve, peak_bytes)
	PUT_ROWS("step.end_bytes", step_count, step_curve, end_bytes)
	PUT_RANKS("rank.times", time_count(rank))
	PUT_ROWS("time.end_ns", time_count, time_curve, end_time_ns)
	PUT_ROWS("time.peak_bytes", time_count, time_curve, peak_bytes)
	PUT_ROWS("time.end_bytes", time_count, time_curve, end_bytes)
#undef PUT_RANKS
#undef PUT_ROWS
}

bool gmt_ranks_page_packet(const struct gmt_ranks_view *view, const int32_t *recordings, FILE *file)
{
	const struct gmt_job *job = view->job;
	struct gmt_packet packet = { 0 };
	char path[GMT_JOB_PATH];

	gmt_packet_column(&packet, "rank.recording");
	for (size_t i = 0; i < job->ranks.count; i++)
		gmt_packet_put_signed(&packet, recordings[i]);
	put_curves(&packet, job);
	gmt_packet_begin_header(&packet);
	if (!packet.has_failed) {
		gmt_json_key(&packet.json, "ranks");
		gmt_ranks_json(view, &packet.json);
		gmt_json_key_array(&packet.json, "recording_files");
		for (size_t i = 0; i < job->ranks.count && !gmt_json_is_full(&packet.json); i++)
			gmt_json_text(&packet.json, gmt_job_recording_path(job, &job->ranks.items[i], path));
		gmt_json_end_array(&packet.json);
	}
	return gmt_packet_write(&packet, file, "job");
}

bool gmt_ranks_page_summary(const struct gmt_ranks_view *view, FILE *file)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	bool done = stream && gmt_ranks_text(view, stream);

	if (stream)
		done &= !fclose(stream);
	if (done) {
		fputs("<section>\n<h2>The ranks of a job</h2>\n<pre>", file);
		gmt_html_escape(file, text, length);
		fputs("</pre>\n</section>\n", file);
	}
	free(text);
	return done;
}

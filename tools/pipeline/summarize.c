/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/summarize.h"

#include "analysis/job/process_summary_make.h"
#include "tools/output/message.h"
#include "tools/pipeline/pipeline.h"
#include "tools/pipeline/work_limit.h"

enum gmt_status gmt_summarize_pipeline(const struct gmt_pipeline *pipeline,
	struct gmt_job_store *store, struct gmt_process_summary *ret_summary, struct gmt_error *error)
{
	const struct gmt_process_summary_input input = {
		.recording = pipeline->recording,
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.timeline = &pipeline->timeline,
		.history = &pipeline->history,
		.sites = &pipeline->sites,
		.ooms = &pipeline->ooms,
		.ledger = &pipeline->ledger,
		.leaks = &pipeline->leaks,
		.curves = &pipeline->time_curves,
	};

	return gmt_process_summary_make(store, &input, ret_summary, error);
}

static enum gmt_status encode(const struct gmt_pipeline *pipeline,
	struct gmt_summary_bytes *ret_bytes, struct gmt_error *error)
{
	struct gmt_job_store store = { 0 };
	struct gmt_process_summary summary = { 0 };
	enum gmt_status status = gmt_summarize_pipeline(pipeline, &store, &summary, error);

	if (!status)
		status = gmt_summary_encode(&store, &summary, ret_bytes, error);
	gmt_job_store_fini(&store);
	return status;
}

int gmt_summarize_recording(const char *path, const struct gmt_traces_options *options,
	struct gmt_summary_bytes *ret_bytes)
{
	struct gmt_pipeline pipeline = { 0 };
	const struct gmt_pipeline_options pipeline_options = {
		.traces = *options,
		.leaks = gmt_pipeline_default_leaks,
		.wants_time_curves = true,
	};
	struct gmt_error error = { 0 };
	int code = gmt_pipeline_load(path, &pipeline_options, &pipeline);

	if (!code && encode(&pipeline, ret_bytes, &error))
		code = gmt_message_failure(&error);
	gmt_pipeline_fini(&pipeline);
	gmt_work_limit_report(path);
	return code;
}

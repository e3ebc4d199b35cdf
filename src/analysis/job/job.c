/* SPDX-License-Identifier: MIT */
#include "analysis/job/job.h"

#include "analysis/job/job_make.h"

enum gmt_status gmt_job_init(struct gmt_job *ret_job, const struct gmt_job_input *input,
	struct gmt_error *error)
{
	enum gmt_status status;

	ret_job->store = input->store;
	ret_job->world_size = -1;
	ret_job->first_grown = ret_job->first_killed = ret_job->first_failure.rank = GMT_JOB_NONE;
	status = gmt_job_choose(ret_job, input, error);
	if (status)
		return status;
	return gmt_job_compare(ret_job) && gmt_job_find_hosts(ret_job) && gmt_job_find_events(ret_job)
		? GMT_OK
		: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_job_fini(struct gmt_job *job)
{
	gmt_vec_fini(&job->ranks);
	gmt_vec_fini(&job->missing);
	gmt_vec_fini(&job->hosts);
	gmt_vec_fini(&job->shared);
	gmt_vec_fini(&job->remarks);
	gmt_vec_fini(&job->outliers);
	gmt_vec_fini(&job->balance);
}

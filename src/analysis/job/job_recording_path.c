/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analysis/job/job.h"

const char *gmt_job_recording_path(const struct gmt_job *job, const struct gmt_job_rank *rank,
	char ret_path[GMT_JOB_PATH])
{
	const char *path = rank->summary->path, *slash = strrchr(path, '/');
	const char *name = gmt_job_text_of(job->store, rank->summary->file);
	const char *name_slash = strrchr(name, '/');
	const char *own = slash ? slash + 1 : path;

	/* A forged summary may name a file of another folder. */
	name = name_slash ? name_slash + 1 : name;
	snprintf(ret_path, GMT_JOB_PATH, "%.*s%s", (int)(own - path), path, *name ? name : own);
	return ret_path;
}

/* SPDX-License-Identifier: MIT */
#include "analysis/job/launcher.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/*
 * The variables of each launcher, in the order in which the recorder asks for the rank
 * (preload/files/output_name.c): the size of the world belongs to the launcher that gave the rank.
 */
static const struct {
	const char *rank, *world_size, *node;
} launchers[] = {
	{ "RANK", "WORLD_SIZE", "GROUP_RANK" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "" },
	{ "PMIX_RANK", "SLURM_NTASKS", "SLURM_NODEID" },
	{ "PMI_RANK", "PMI_SIZE", "" },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "" },
	{ "SLURM_PROCID", "SLURM_NTASKS", "SLURM_NODEID" },
	{ "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "" },
};

/* Names of a job, the most specific first. `suffix` may be NULL; it follows after a dot. */
static const struct {
	const char *words, *variable, *suffix;
} names[] = {
	{ "slurm job", "SLURM_JOB_ID", "SLURM_STEP_ID" },
	{ "torchrun job", "TORCHELASTIC_RUN_ID", NULL },
	{ "flux job", "FLUX_JOB_ID", NULL },
	{ "mpi job", "PMIX_NAMESPACE", NULL },
	{ "mpi job", "OMPI_MCA_ess_base_jobid", NULL },
	{ "mpi job", "PMI_JOBID", NULL },
	{ "ray job", "RAY_JOB_ID", NULL },
};

static const char *get(const struct gmt_job_store *store, const struct gmt_process_summary *summary,
	const char *name)
{
	return *name ? gmt_process_variable(store, summary, name) : "";
}

static int64_t get_number(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary, const char *name)
{
	uint64_t value;

	return gmt_text_parse_u64(get(store, summary, name), &value) && value <= INT32_MAX
		? (int64_t)value
		: -1;
}

/*
 * Returns what distinguishes a run of torchrun from others in the same allocation of Slurm. Without
 * srun, no step of Slurm does.
 */
static const char *torchrun_of(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary)
{
	const char *id = get(store, summary, "TORCHELASTIC_RUN_ID");

	return *id && strcmp(id, "none") != 0 ? id : get(store, summary, "MASTER_PORT");
}

static bool name_job(const struct gmt_job_store *store, const struct gmt_process_summary *summary,
	char *ret_text, size_t bytes)
{
	const char *address, *port;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *id = get(store, summary, names[i].variable);
		const char *step = names[i].suffix ? get(store, summary, names[i].suffix) : "";

		/* torchrun sets the id "none" if the user gave none. */
		if (!*id || strcmp(id, "none") == 0)
			continue;
		if (names[i].suffix && !*step)
			step = torchrun_of(store, summary);
		snprintf(ret_text, bytes, "%s %.200s%s%.40s", names[i].words, id, *step ? "." : "", step);
		return true;
	}
	address = get(store, summary, "MASTER_ADDR");
	port = get(store, summary, "MASTER_PORT");
	if (*address)
		snprintf(ret_text, bytes, "job of %.200s:%.20s", address, port);
	return *address;
}

/* Without names of a launcher: processes of one `run`, or of one program in one folder. */
static void name_job_by_program(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary, char *ret_text, size_t bytes)
{
	const char *run = gmt_job_text_of(store, summary->run);

	if (summary->rank < 0 && *run)
		snprintf(ret_text, bytes, "run %.64s", run);
	else
		snprintf(ret_text, bytes, "%.128s in %.256s", gmt_job_text_of(store, summary->program),
			gmt_job_text_of(store, summary->directory));
}

static uint32_t find_attempt(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary)
{
	int64_t torchrun = get_number(store, summary, "TORCHELASTIC_RESTART_COUNT");
	int64_t slurm = get_number(store, summary, "SLURM_RESTART_COUNT");

	return (uint32_t)((torchrun > 0 ? torchrun : 0) + (slurm > 0 ? slurm : 0));
}

bool gmt_launch_init(struct gmt_job_store *store, const struct gmt_process_summary *summary,
	struct gmt_launch *ret_launch)
{
	const char *role = get(store, summary, "ROLE_NAME");
	char key[512];

	*ret_launch = (struct gmt_launch){
		.rank = summary->rank,
		.local_rank = summary->local_rank,
		.world_size = -1,
		.node = -1,
		.attempt = find_attempt(store, summary),
	};
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++)
		if (get_number(store, summary, launchers[i].rank) >= 0) {
			ret_launch->world_size = get_number(store, summary, launchers[i].world_size);
			ret_launch->node = get_number(store, summary, launchers[i].node);
			break;
		}
	if (!name_job(store, summary, key, sizeof(key)))
		name_job_by_program(store, summary, key, sizeof(key));
	ret_launch->key = gmt_job_intern_text(store, key, strlen(key));
	/* torchrun sets the role "default" if the user gave none. */
	if (strcmp(role, "default") == 0)
		role = "";
	ret_launch->role = gmt_job_intern_text(store, role, strlen(role));
	return ret_launch->key != UINT32_MAX && ret_launch->role != UINT32_MAX;
}

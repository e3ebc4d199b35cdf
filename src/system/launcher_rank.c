/* SPDX-License-Identifier: MIT */
#include "system/launcher_rank.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/text.h"

/* Variables in which launchers set the rank, the most specific launcher first. */
static const char *const rank_names[] = {
	"RANK",
	"OMPI_COMM_WORLD_RANK",
	"PMIX_RANK",
	"PMI_RANK",
	"MV2_COMM_WORLD_RANK",
	"SLURM_PROCID",
	"FLUX_TASK_RANK",
};
static const char *const local_rank_names[] = {
	"LOCAL_RANK",
	"OMPI_COMM_WORLD_LOCAL_RANK",
	"MPI_LOCALRANKID",
	"MV2_COMM_WORLD_LOCAL_RANK",
	"SLURM_LOCALID",
	"FLUX_TASK_LOCAL_ID",
};

/* Returns the first variable that has a number; -1: none has. */
static int32_t first_number(const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = getenv(names[i]);
		uint64_t value;

		if (text && gmt_text_parse_u64(text, &value) && value <= INT32_MAX)
			return (int32_t)value;
	}
	return -1;
}

int32_t gmt_launcher_rank(void)
{
	return first_number(rank_names, sizeof(rank_names) / sizeof(*rank_names));
}

int32_t gmt_launcher_local_rank(void)
{
	return first_number(local_rank_names, sizeof(local_rank_names) / sizeof(*local_rank_names));
}

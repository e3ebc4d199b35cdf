/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_LAUNCHER_RANK_H
#define GMT_SYSTEM_LAUNCHER_RANK_H

/*
 * The rank of this process, from the variables that launchers set (torchrun, Open MPI, PMIx, PMI,
 * MVAPICH, Slurm, Flux). The recorder and `doctor` share this code. No state; reads the
 * environment.
 */

#include <stdint.h>

/* Return the rank in the job, and on the machine; -1: no launcher has set it. */
int32_t gmt_launcher_rank(void);
int32_t gmt_launcher_local_rank(void);

#endif

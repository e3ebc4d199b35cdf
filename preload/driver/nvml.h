/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_NVML_H
#define GMT_DRIVER_NVML_H

/*
 * NVIDIA's management library (NVML). Only NVML knows how much device memory other processes hold.
 * The recorder opens NVML when the process uses the driver. Without NVML these numbers stay
 * unknown. Only the sampler's thread uses NVML: opening a library takes the loader's lock and
 * memory, and queries may take milliseconds.
 */

#include <stdbool.h>
#include <stdint.h>

/* NVML's answer about a device. */
struct gmt_nvml_answer {
	uint16_t known; /* the valid members: GMT_SAMPLE_NVML, GMT_SAMPLE_PROCESSES */
	uint64_t used_bytes;    /* by all processes */
	uint64_t process_bytes; /* by this process */
	uint64_t others_bytes;  /* by the other processes that NVML lists */
};

/* Opens NVML at the first call. Returns false if it is missing or does not work. */
bool gmt_nvml_open(void);

/*
 * Asks NVML about a device. `device` is the driver's ordinal. `may_be_listed`: this process may
 * have a context on the device. If NVML lists this process's pid without a context, the pids are
 * those of another pid namespace. From then on, the function trusts no pid.
 */
void gmt_nvml_ask(unsigned device, bool may_be_listed, struct gmt_nvml_answer *ret_answer);

/*
 * Surround a fork, so that no thread opens the library during the fork. gmt_nvml_hold waits until
 * the library is open, for a limited time. After a failed wait, later forks do not wait for it.
 */
void gmt_nvml_hold(void);
void gmt_nvml_release(void);

#endif

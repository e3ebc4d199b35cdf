/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_NVML_H
#define GMT_DRIVER_NVML_H

/*
 * NVIDIA's management library (NVML). Only NVML knows how much device memory other processes hold.
 * The recorder opens it when the process uses the driver. Without it these numbers stay unknown.
 * Only the sampler's thread uses it: opening a library takes the loader's lock and memory, and
 * answers may take milliseconds.
 */

#include <stdbool.h>
#include <stdint.h>

/* NVML's answer about a device. */
struct gmt_nvml_answer {
	uint16_t known; /* GMT_SAMPLE_NVML, GMT_SAMPLE_PROCESSES */
	uint64_t used_bytes;    /* by all processes */
	uint64_t process_bytes; /* by this process */
	uint64_t others_bytes;  /* by the other processes that NVML lists */
};

/* Opens NVML at the first call. Returns false if it is missing or does not work. */
bool gmt_nvml_open(void);

/*
 * Asks NVML about a device of the process. Set `may_be_listed` if this process may have used the
 * device. If a process with our pid is listed before that, it is another process from another pid
 * namespace. From then on, no pid is trusted.
 */
void gmt_nvml_ask(unsigned device, bool may_be_listed, struct gmt_nvml_answer *ret_answer);

/*
 * Surround a fork, so that the library is not being opened during the fork. gmt_nvml_hold waits for
 * the opening, for a limited time. After a failed wait, later forks do not wait for that opening.
 */
void gmt_nvml_hold(void);
void gmt_nvml_release(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_NVML_H
#define GMT_DRIVER_NVML_H

/*
 * NVIDIA's management library, which alone knows what other processes hold of a device. It is opened when the
 * process uses the driver, and where it is not there, nothing is known of it. One thread, the sampler's: it
 * opens a library, which takes the loader's lock and memory, and its answers may take milliseconds.
 */

#include <stdbool.h>
#include <stdint.h>

/* What it says of a device. */
struct gmt_nvml_answer {
	uint16_t known; /* GMT_SAMPLE_NVML, GMT_SAMPLE_PROCESSES */
	uint64_t used_bytes;    /* by all processes */
	uint64_t process_bytes; /* by this one */
	uint64_t others_bytes;  /* by the others that it lists */
};

/* Opens it, the first time. False when it is not there or does not work. */
bool gmt_nvml_open(void);

/*
 * Asks about a device of the process. `may_be_listed`: this process may have used it; a process of this
 * number that is listed before that is another one, of another pid namespace, and no number is believed
 * from then on.
 */
void gmt_nvml_ask(unsigned device, bool may_be_listed, struct gmt_nvml_answer *ret_answer);

/* Around a fork: in between, the library is not being opened. Waits for that, but not for long, and in vain once. */
void gmt_nvml_hold(void);
void gmt_nvml_release(void);

/* In the child of a fork: who was opening it, or forking too, is not there any more. */
void gmt_nvml_reset_lock(void);

#endif

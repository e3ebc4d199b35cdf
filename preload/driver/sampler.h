/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_SAMPLER_H
#define GMT_DRIVER_SAMPLER_H

/*
 * Samples the devices' memory, as the driver and NVML report it, for the writer
 * (driver/sample_queue.h).
 *
 * A separate thread makes the queries, in relaxed capture mode. So no thread of the program waits
 * for the answers, and no stream capture is disturbed. The sampler makes no context and keeps no
 * context alive. It starts after a context was seen. It takes a sample if the program has called
 * the driver since the last sample, at most four times a second and in at most a fiftieth of the
 * time. It stops for good when the process begins to exit. If a process had a sampler, its children
 * start no sampler.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/*
 * Starts the thread, unless it runs. Returns whether it runs now. Call it on a thread of the
 * program: a new thread of the writer would share the writer's descriptor table, which lacks the
 * driver's descriptors.
 */
bool gmt_sampler_start(void);

/*
 * Requests a sample of all devices, if one is due. The writer's thread calls it several times a
 * second.
 */
void gmt_sampler_tick(void);

/*
 * Requests a sample of one device, and waits for it, at most a fifth of a second. Starts the
 * thread, unless it runs. The first sample takes as long as opening NVML. Returns false if the
 * sample is not ready in time. Keeps errno. For the wrappers of rare calls.
 */
bool gmt_sampler_sample_now(int device, struct gmt_sample *ret_sample);

/*
 * Stops the sampler, because the process ends. With `once_more`, requests a last sample first.
 * Waits until the running query is done, for a limited time. Any thread. Does nothing in the child
 * of a vfork.
 */
void gmt_sampler_stop(bool once_more);

/* Returns whether the sampler's thread is a thread of this process. */
bool gmt_sampler_is_running(void);

#endif

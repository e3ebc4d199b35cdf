/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_SAMPLER_H
#define GMT_DRIVER_SAMPLER_H

/*
 * What the devices' memory is at a moment, as the driver and NVML say it. In the flow: sampler -> samples ->
 * writer. A thread of its own asks, in relaxed capture mode, so that no thread of the program waits for
 * the answers and no capture minds; it makes no context, and keeps none alive. It starts when a context has
 * been seen, asks when calls were made since the last time, at most four times a second and a fiftieth of the
 * time, and never again once the process began to exit. In the child of a process that had it, it stays away.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/*
 * Starts the thread when it does not run, and says whether it runs then. From a thread of the program: the writer's descriptors
 * are in a table of their own, in which the driver's are not, and a thread that it made would have that table.
 */
bool gmt_sampler_start(void);

/* From the writer's thread, several times a second: time for a sample, where something happened. */
void gmt_sampler_tick(void);

/*
 * A sample of one device, at once, from a hook; it is recorded too. Starts the thread when it does not run.
 * Waits for the answer, which takes as long as opening NVML the first time, but at most a fifth of a second; false when
 * there is none. errno is as before. For rare moments.
 */
bool gmt_sampler_ask(int device, struct gmt_sample *ret_sample);

/*
 * The process ends: nothing is asked from now on. With `once_more`, after a last sample. Waits for what is
 * being asked, but not for long. Any thread, also the child of a vfork, where it does nothing.
 */
void gmt_sampler_stop(bool once_more);

/* Whether its thread is one of the process's. */
bool gmt_sampler_is_there(void);

/* In the child of a fork. */
void gmt_sampler_forget(void);

#endif

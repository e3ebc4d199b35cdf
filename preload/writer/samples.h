/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_SAMPLES_H
#define GMT_WRITER_SAMPLES_H

/*
 * What the sampler was told waits here until the writer puts it into the file. In the flow: sampler ->
 * samples -> writer. One thread pushes and one pops; no locks, no memory of the host's heap. What finds no
 * room is left out: the next sample says the same of a later moment.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/* The sampler's thread. False when there is no room. */
bool gmt_samples_push(const struct gmt_sample *sample);
bool gmt_samples_push_pool(const struct gmt_pool *pool);

/* The writer's thread: takes at most `room` rows; how many. */
uint32_t gmt_samples_pop(struct gmt_sample *ret_samples, uint32_t room);
uint32_t gmt_samples_pop_pools(struct gmt_pool *ret_pools, uint32_t room);

/* In the child of a fork: what the parent's sampler was told is not the child's. */
void gmt_samples_forget(void);

#endif

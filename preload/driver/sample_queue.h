/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_SAMPLE_QUEUE_H
#define GMT_DRIVER_SAMPLE_QUEUE_H

/*
 * Queues of samples from the sampler to the writer, which puts them into the file. Data flow:
 * sampler -> samples -> writer. One thread pushes and one thread pops. There are no locks and no
 * allocations from the host's heap. A sample that finds no room is dropped: the next sample reports
 * the same quantities at a later moment.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/* Adds a row. Called by the sampler's thread. Returns false if there is no room. */
bool gmt_sample_queue_push(const struct gmt_sample *sample);
bool gmt_sample_queue_push_pool(const struct gmt_pool *pool);

/*
 * Removes at most `max_count` rows. Called by the writer's thread. Returns how many rows it
 * removed.
 */
uint32_t gmt_sample_queue_pop(struct gmt_sample *ret_samples, uint32_t max_count);
uint32_t gmt_sample_queue_pop_pools(struct gmt_pool *ret_pools, uint32_t max_count);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_SAMPLE_QUEUE_H
#define GMT_DRIVER_SAMPLE_QUEUE_H

/*
 * Two queues from the sampler to the writer, which writes the rows to the file: samples of devices
 * and states of pools. The sampler's thread pushes and the writer's thread pops, without locks and
 * without the host's heap. A row that finds no room is dropped: the next row has newer values.
 */

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/* Add a row. Only the sampler's thread calls them. Return false if there is no room. */
bool gmt_sample_queue_push(const struct gmt_sample *sample);
bool gmt_sample_queue_push_pool(const struct gmt_pool *pool);

/*
 * Remove at most `max_count` rows. Only the writer's thread calls them. Return the number of rows.
 */
uint32_t gmt_sample_queue_pop(struct gmt_sample *ret_samples, uint32_t max_count);
uint32_t gmt_sample_queue_pop_pools(struct gmt_pool *ret_pools, uint32_t max_count);

#endif

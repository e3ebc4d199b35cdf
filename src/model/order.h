/* SPDX-License-Identifier: MIT */
#ifndef GMT_MODEL_ORDER_H
#define GMT_MODEL_ORDER_H

#include <stdbool.h>

#include "model/snapshot.h"

/*
 * Sets snapshot->order: by stamp, and by the file's order where stamps are equal. As a thread's
 * stamps never decrease (loading ensures it), its own events stay in their order. False when out of
 * memory.
 */
bool gmt_order_events(struct gmt_snapshot *snapshot);

/* Sorts snapshot->marks likewise. */
void gmt_order_marks(struct gmt_snapshot *snapshot);

#endif

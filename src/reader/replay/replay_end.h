/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_REPLAY_REPLAY_END_H
#define GMT_READER_REPLAY_REPLAY_END_H

/* Saves the live memory at the end of the program's work. Internal to replay.c. */

#include <stdbool.h>

#include "reader/replay/replay.h"

/* Saves the current state of the accounting as replay->end. Returns false when out of memory. */
bool gmt_replay_end_save(struct gmt_replay *replay, uint64_t stamp);

void gmt_replay_end_fini(struct gmt_replay_end *end);

#endif

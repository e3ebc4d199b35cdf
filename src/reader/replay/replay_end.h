/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_REPLAY_REPLAY_END_H
#define GMT_READER_REPLAY_REPLAY_END_H

/* The part of a replay that notes down what lived at the end of the program's work. Internal to replay.c. */

#include <stdbool.h>

#include "reader/replay/replay.h"

/* Notes down what the books hold now. False when out of memory. */
bool gmt_replay_end_take(struct gmt_replay *replay, uint64_t stamp);

void gmt_replay_end_fini(struct gmt_replay_end *end);

#endif

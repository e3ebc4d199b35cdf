/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_HOT_DATA_H
#define GMT_RUNTIME_HOT_DATA_H

/*
 * For variables that each event reads and that hardly ever change. They are placed next to each
 * other, wherever they are declared. Between two events the program has used the caches itself, so
 * each cache line that an event reads costs more than all its instructions. Do not use it for a
 * variable that some thread writes at each event: that would take the cache line from all other
 * threads.
 */
#define GMT_HOT_DATA __attribute__((section("gmt_hot_data")))

#endif

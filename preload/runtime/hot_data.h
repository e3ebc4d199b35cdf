/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_HOT_DATA_H
#define GMT_RUNTIME_HOT_DATA_H

/*
 * For words that each event looks at and that hardly ever change. They lie behind each other, wherever they are declared:
 * between two events the program has used the caches for itself, and each line that is looked at costs more than all the
 * instructions. Not for what some thread writes at each event, which would take the line from all others.
 */
#define GMT_HOT_DATA __attribute__((section("gmt_hot_data")))

#endif

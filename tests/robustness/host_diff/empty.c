/* SPDX-License-Identifier: MIT */
/*
 * A preloaded library that does nothing. Runs without the recorder preload it, so both runs contain
 * the loader's own work for a preload.
 */
extern int gmt_host_diff_empty;
int gmt_host_diff_empty;

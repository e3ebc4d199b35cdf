/* SPDX-License-Identifier: MIT */
/* A preload that does nothing: what the loader itself does for a preload is no difference then. */
extern int gmt_host_diff_empty;
int gmt_host_diff_empty;

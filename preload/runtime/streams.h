/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_STREAMS_H
#define GMT_RUNTIME_STREAMS_H

/* The host's standard streams, for a thread that has a descriptor table of its own (descriptor.h). */

#include <stdbool.h>

/* Descriptors of the calling thread. */
struct gmt_streams {
	int output, error; /* -1: not open */
};

/*
 * Gives the calling thread descriptors of what the host's numbers 1 and 2 mean now. In a thread with the host's table these are 1 and
 * 2. False when stderr cannot be had: the kernel forbids it, or the main thread has ended.
 */
bool gmt_streams_open(struct gmt_streams *ret_streams);

void gmt_streams_close(const struct gmt_streams *streams);

#endif

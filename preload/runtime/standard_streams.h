/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_STANDARD_STREAMS_H
#define GMT_RUNTIME_STANDARD_STREAMS_H

/* The host's standard streams, for a thread that has its own descriptor table (descriptor.h). */

#include <stdbool.h>

/* Descriptors of the calling thread. */
struct gmt_standard_streams {
	int output, error; /* -1: not open */
};

/*
 * Gives the calling thread descriptors of the streams that the host currently has at the numbers 1
 * and 2. If the thread shares the host's descriptor table, these are 1 and 2 themselves. `output`
 * may be -1 after success. Returns false if stderr is not available: the kernel forbids it, or the
 * main thread has ended.
 */
bool gmt_standard_streams_open(struct gmt_standard_streams *ret_streams);

void gmt_standard_streams_close(const struct gmt_standard_streams *streams);

#endif

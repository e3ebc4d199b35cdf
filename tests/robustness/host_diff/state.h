/* SPDX-License-Identifier: MIT */
#ifndef GMT_HOST_DIFF_STATE_H
#define GMT_HOST_DIFF_STATE_H

/*
 * The state of the calling process, as far as a program can query it: one fact per line, "key:
 * value". The witness (witness.c) uses it in programs of others, and cuda_host.c in programs that
 * use CUDA.
 */

struct gmt_state_text {
	char bytes[1 << 17];
	unsigned length; /* a fact that does not fit is left out */
};

enum gmt_state_parts {
	GMT_STATE_OF_PROCESS = 1, /* environment, signals, timers, limits, identity: what one program
								 cannot change in silence */
	GMT_STATE_OF_FILES = 2, /* open descriptors and the lowest free number */
	GMT_STATE_OF_MEMORY = 4, /* threads and mapped files */
};

/*
 * Appends the chosen parts to `text`. Keeps errno, does not allocate, and closes the files that it
 * opens.
 */
void gmt_state_report(struct gmt_state_text *text, unsigned parts);

/* Appends formatted text to `text`, as printf does. */
__attribute__((format(printf, 2, 3))) void gmt_state_add(struct gmt_state_text *text,
	const char *format, ...);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_HOST_DIFF_STATE_H
#define GMT_HOST_DIFF_STATE_H

/*
 * The state of the calling process as a program can ask for it: one fact on a line, "key: value".
 * Used by the witness (witness.c), which looks at programs of others, and by programs that use CUDA
 * (cuda_host.c).
 */

struct gmt_state_text {
	char bytes[1 << 17];
	unsigned length; /* what does not fit is left out */
};

enum gmt_state_parts {
	GMT_STATE_OF_PROCESS = 1, /* environment, signals, timers, limits, identity: what one program
								 cannot change in silence */
	GMT_STATE_OF_FILES = 2, /* open descriptors and the lowest free number */
	GMT_STATE_OF_MEMORY = 4, /* threads and mapped files */
};

/*
 * Writes the chosen parts behind what is in `text`. Keeps errno, takes no memory, and closes what
 * it opens.
 */
void gmt_state_tell(struct gmt_state_text *text, unsigned parts);

/* As printf, behind what is in `text`. */
__attribute__((format(printf, 2, 3))) void gmt_state_add(struct gmt_state_text *text,
	const char *format, ...);

#endif

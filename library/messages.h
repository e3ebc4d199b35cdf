/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIBRARY_MESSAGES_H
#define GMT_LIBRARY_MESSAGES_H

/*
 * Keeps the messages of the functions of tools/ as text. The library replaces the functions of
 * tools/output/message.h, and prints nothing. The caller of all these functions holds the lock of
 * the process (recording.c).
 */

#include "base/status.h"

/* Forgets all messages. */
void gmt_messages_clear(void);

/* Returns the last failure since then. Its status is GMT_OK if there was none. */
const struct gmt_error *gmt_messages_failure(void);

/* Returns warning `index` since then, or NULL after the last one. Valid until the next message. */
const char *gmt_messages_warning(unsigned index);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OUTPUT_DOCUMENT_STREAM_H
#define GMT_TOOLS_OUTPUT_DOCUMENT_STREAM_H

/*
 * Streams for documents. A stream writes each byte unchanged, because a document is not shown on a
 * terminal. The code that writes a document must escape text from recordings itself. Text for
 * terminals goes through safe streams (base/safe_stream.h).
 */

#include <stdio.h>

/*
 * Returns a stream that writes to `fd` and owns it. NULL when out of memory; `fd` stays open.
 * Errors appear in ferror() and in the result of fclose(), with errno.
 */
FILE *gmt_document_stream(int fd);

/* Returns an empty temporary file in memory, to write and then read; NULL when out of memory. */
FILE *gmt_document_temporary(void);

#endif

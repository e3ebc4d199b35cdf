/* SPDX-License-Identifier: MIT */
#include "tools/output/document_stream.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/safe_stream.h"

FILE *gmt_document_stream(int fd)
{
	return gmt_safe_stream_open_raw(fd);
}

FILE *gmt_document_temporary(void)
{
	int fd = memfd_create("gpumemtrace-document", MFD_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;

	if (!file && fd >= 0)
		close(fd);
	return file;
}

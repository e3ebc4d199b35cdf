/* SPDX-License-Identifier: MIT */
/* Fuzzes whole files: the bytes before the first block, gzip's members and their ends. */
#include <stdlib.h>

#include "content.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_source *source;
	struct gmt_error error = { 0 };
	struct gmt_block block;
	char path[FUZZ_PATH_BYTES];
	enum gmt_status status;
	unsigned sum = 0;

	fuzz_store_file(0, data, size, path);
	status = gmt_source_open(path, &source, &error);
	if (status && (!*error.text || source))
		abort();
	while (!status) {
		status = gmt_source_next(source, &block, &error);
		for (uint32_t i = 0; !status && i < block.size_bytes; i++)
			sum |= block.payload[i]; /* reads every byte */
	}
	if ((status == GMT_DAMAGED && !*error.text) || sum > UINT8_MAX)
		abort();
	gmt_source_close(source);
	return 0;
}

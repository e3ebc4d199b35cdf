/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file: what stands in front of the first block, gzip's members and their ends. By
 * both ways to inflate, where both are here: what is whole reads the same, and of what is damaged
 * ISA-L reads all that zlib reads. It may read on: it takes codes for good that zlib refuses
 * because some of their words are nobody's.
 */
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "format/encoding/inflate.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
	struct gmt_source *source; /* NULL: not opened */
	enum gmt_status status;    /* of what was asked last */
	struct gmt_error error;
	struct gmt_block block;
};

static void open_by(struct reading *reading, const struct gmt_inflater *inflater, const char *path)
{
	*reading = (struct reading){ 0 };
	reading->status = gmt_source_open_by(inflater, path, NULL, &reading->source, &reading->error);
	if (reading->status && (!*reading->error.text || reading->source))
		abort();
}

static void next(struct reading *reading)
{
	unsigned sum = 0;

	if (reading->status)
		return;
	reading->status = gmt_source_next(reading->source, &reading->block, &reading->error);
	if (reading->status == GMT_DAMAGED && !*reading->error.text)
		abort();
	for (uint32_t i = 0; !reading->status && i < reading->block.size_bytes; i++)
		sum |= reading->block.payload[i]; /* all of it is there */
	if (sum > UINT8_MAX)
		abort();
}

static bool is_same(const struct gmt_block *one, const struct gmt_block *other)
{
	return one->kind == other->kind && one->rows == other->rows &&
		one->size_bytes == other->size_bytes &&
		memcmp(one->payload, other->payload, one->size_bytes) == 0;
}

/* There is no way back from the end, so each goes on to its own. */
static void read_both(struct reading *zlib, struct reading *isal)
{
	while (!zlib->status || !isal->status) {
		next(zlib);
		next(isal);
		if (!zlib->status && (isal->status || !is_same(&zlib->block, &isal->block)))
			abort();
		if ((zlib->status == GMT_END) != (isal->status == GMT_END))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gmt_inflater *inflater = gmt_inflater_isal();
	struct reading zlib, isal = { .status = GMT_NO_FILE };
	char path[FUZZ_PATH_BYTES];

	fuzz_store_file(0, data, size, path);
	open_by(&zlib, &gmt_inflater_zlib, path);
	if (inflater) {
		open_by(&isal, inflater, path);
		read_both(&zlib, &isal);
	} else
		while (!zlib.status)
			next(&zlib);
	gmt_source_close(zlib.source);
	gmt_source_close(isal.source);
	return 0;
}

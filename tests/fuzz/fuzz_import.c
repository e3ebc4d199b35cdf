/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes imports: pickles with any opcodes, snapshots with any values, and logs with any text. Each
 * recording that is written must be valid.
 */
#include <stdlib.h>

#include "content.h"
#include "format/encoding/encode_rows.h"
#include "import/csv/csv_import.h"
#include "import/torch/torch_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The recording that an import writes. */
struct recording {
	struct gmt_encoder encoder;
	uint64_t events;
	bool has_process, has_end;
};

static bool take_rows(void *user, uint32_t kind, const void *rows, uint32_t count)
{
	struct recording *recording = user;
	struct gmt_error error = { 0 };

	/* The process is first, the end is last and counts the events. */
	if (!count || recording->has_end || recording->has_process == (kind == GMT_RECORD_PROCESS) ||
		gmt_encode_rows(&recording->encoder, kind, rows, count, &error))
		abort();
	recording->has_process = true;
	recording->events += kind == GMT_RECORD_EVENT ? count : 0;
	recording->has_end = kind == GMT_RECORD_END;
	if (recording->has_end && ((const struct gmt_end *)rows)->events != recording->events)
		abort();
	return true;
}

static enum gmt_status import_pickle(const uint8_t *bytes, size_t size,
	const struct gmt_import_options *options, struct gmt_error *error)
{
	struct gmt_unpickle pickle = { 0 };
	enum gmt_status status = gmt_unpickle_read(&pickle, bytes, size, error);

	if (!status)
		status = gmt_torch_import(&pickle.value, size, options, error);
	gmt_unpickle_fini(&pickle);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording recording = { 0 };
	const struct gmt_import_options options = {
		.version = "1",
		.write = take_rows,
		.user = &recording,
	};
	struct gmt_error error = { 0 };
	uint8_t *bytes = fuzz_copy(data, size);
	enum gmt_status status = gmt_unpickle_is_pickle(bytes, size)
		? import_pickle(bytes, size, &options, &error)
		: gmt_csv_import(bytes, size, &options, &error);

	if (status ? status != GMT_FORMAT || !*error.text : !recording.has_end)
		abort();
	gmt_encoder_fini(&recording.encoder);
	free(bytes);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_TORCH_TORCH_IMPORT_H
#define GMT_IMPORT_TORCH_TORCH_IMPORT_H

/*
 * Makes a recording of a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot). Segments
 * become memory of layer cuda, blocks become blocks of layer torch.
 */

#include "base/status.h"
#include "import/import_writer.h"
#include "import/pickle/unpickle.h"

/* Returns whether a pickle's value looks like a snapshot. */
bool gmt_torch_import_is_snapshot(const struct gmt_unpickled *value);

/*
 * Writes the recording. `file_bytes` is the size of the pickle: it limits the work. The `tool` and
 * `start_time_ns` of `options` are ignored. Returns GMT_FORMAT if the value is no snapshot,
 * GMT_NO_MEMORY, or GMT_WRITE if options->write returned false.
 */
enum gmt_status gmt_torch_import(const struct gmt_unpickled *value, uint64_t file_bytes,
	const struct gmt_import_options *options, struct gmt_error *error);

#endif

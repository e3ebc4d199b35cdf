/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_TORCH_TORCH_SNAPSHOT_H
#define GMT_IMPORT_TORCH_TORCH_SNAPSHOT_H

/* The dictionaries of a snapshot as structures: events, segments and blocks. */

#include "base/status.h"
#include "import/pickle/unpickle.h"

enum gmt_torch_import_action {
#define GMT_TORCH_IMPORT_ACTION(NAME, name, library) GMT_TORCH_IMPORT_##NAME,
#include "import/torch/torch_actions.def"
#undef GMT_TORCH_IMPORT_ACTION
	GMT_TORCH_IMPORT_ACTIONS, /* an action that this version does not know */
};

/* The name of an action, and the library of its function in the recording. */
struct gmt_torch_import_action_text {
	const char *name, *library;
};
extern const struct gmt_torch_import_action_text gmt_torch_import_actions[GMT_TORCH_IMPORT_ACTIONS];

/* Values that the dictionary lacks are NULL, numbers are 0. */
struct gmt_torch_import_event {
	const struct gmt_unpickled *action_text, *frames, *metadata;
	uint64_t address, device_free, size_bytes, stream, time_us;
	bool has_address, has_time;
	enum gmt_torch_import_action action;
};

struct gmt_torch_import_segment {
	const struct gmt_unpickled *frames, *blocks, *pool, *expandable;
	uint64_t device, address, size_bytes, stream;
	bool has_address;
};

struct gmt_torch_import_block {
	const struct gmt_unpickled *frames, *state;
	uint64_t address, size_bytes, requested_bytes;
	bool has_address, has_requested;
};

/*
 * Read a dictionary. `what` names it in errors: "event 3 of device_traces[0]". Return GMT_FORMAT if
 * the value is not such a dictionary.
 */
enum gmt_status gmt_torch_import_read_event(const struct gmt_unpickled *value, const char *what,
	struct gmt_torch_import_event *ret_event, struct gmt_error *error);
enum gmt_status gmt_torch_import_read_segment(const struct gmt_unpickled *value, const char *what,
	struct gmt_torch_import_segment *ret_segment, struct gmt_error *error);
enum gmt_status gmt_torch_import_read_block(const struct gmt_unpickled *value, const char *what,
	struct gmt_torch_import_block *ret_block, struct gmt_error *error);

/* Returns the items of a list or tuple; an empty one for other values and NULL. */
const struct gmt_unpickled_items *gmt_torch_import_items(const struct gmt_unpickled *value);

#endif

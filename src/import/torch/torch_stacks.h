/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_TORCH_TORCH_STACKS_H
#define GMT_IMPORT_TORCH_TORCH_STACKS_H

/*
 * Gives ids to the stacks and texts of a snapshot. Python writes a value that occurs several times
 * once, and then refers to it. Each such value is read once too, so that the work is in proportion
 * to the size of the file.
 */

#include "containers/map.h"
#include "import/import_writer.h"
#include "import/pickle/unpickle.h"

/* The `user_metadata` of events. */
struct gmt_torch_import_metadata {
	uint32_t name; /* id of a name of marks; 0: it has none */
	bool has_step;
	int64_t step;
};

struct gmt_torch_import_stacks {
	struct gmt_import_writer *writer;
	/* Address of a value's bytes or items to its id: frame, stack, name. */
	struct gmt_map frames, stacks, names;
	GMT_VEC(struct gmt_torch_import_metadata) metadata; /* of `names` */
	GMT_VEC(uint32_t) ids; /* frames of the stack that is being read */
};

/*
 * Gets the id of a list of frames, leaf first. 0: the value is NULL or has no frames. Values that
 * are no frames are skipped.
 */
bool gmt_torch_import_stack(struct gmt_torch_import_stacks *stacks,
	const struct gmt_unpickled *frames, uint32_t *ret_stack);

/*
 * Reads an event's `user_metadata`. A text is a name. In a dictionary, a number `step` is
 * a step, and the rest is the name: "key=value, ...", or only the value of `phase`.
 */
bool gmt_torch_import_metadata(struct gmt_torch_import_stacks *stacks,
	const struct gmt_unpickled *value, struct gmt_torch_import_metadata *ret_metadata);

void gmt_torch_import_stacks_fini(struct gmt_torch_import_stacks *stacks);

#endif

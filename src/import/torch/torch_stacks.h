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

struct gmt_torch_import_stacks {
	struct gmt_import_writer *writer;
	/* Address of a value's bytes or items to its id: frame, stack, name. */
	struct gmt_map frames, stacks, names;
	GMT_VEC(uint32_t) ids; /* frames of the stack that is being read */
};

/*
 * Gets the id of a list of frames, leaf first. 0: the value is NULL or has no frames. Values that
 * are no frames are skipped.
 */
bool gmt_torch_import_stack(struct gmt_torch_import_stacks *stacks,
	const struct gmt_unpickled *frames, uint32_t *ret_stack);

/*
 * Gets the id of the name of an event's `user_metadata`: its text, or "key=value, ..." of a
 * dictionary. 0: there is none.
 */
bool gmt_torch_import_name(struct gmt_torch_import_stacks *stacks,
	const struct gmt_unpickled *metadata, uint32_t *ret_name);

void gmt_torch_import_stacks_fini(struct gmt_torch_import_stacks *stacks);

#endif

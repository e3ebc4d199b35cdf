/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_SITE_KEY_H
#define GMT_ANALYSIS_COMPARE_SITE_KEY_H

/*
 * Names of sites that are stable across recordings. Baselines, suppressions and comparisons use
 * them, because ids, addresses and line numbers differ between recordings.
 *
 * A frame's name is
 *
 *   FILE:FUNCTION    Python: "train.py:Model.forward", "torch/nn/functional.py:linear"
 *   MODULE:FUNCTION  native: "libtorch_cpu.so:at::_ops::mm::call"
 *   MODULE           native without a name; "?" when the module is not known either
 *
 * FILE is relative to the installed packages, to the standard library ("lib/python/..."), or to the
 * recorded working directory. For other files, FILE is the folder's name and the file's name. Names
 * that tools generate for each run are replaced with the tool's name: "<ipython>",
 * "<torchinductor>". MODULE is the file's name without versions, build hashes and ABI tags:
 * "libcudart-9335f6a2.so.12.4.127" is "libcudart.so". C++ functions are named without parameters
 * and template arguments. Control characters become '?'.
 *
 * A stack has two names. The group is the frame that the user knows (gmt_traces_own_line); many
 * stacks share a group. The hash distinguishes the stacks of a group: FNV-1a (64 bits) over the
 * frames' names, leaf first, with a newline after each name. The hash leaves out:
 *   - a repetition of the preceding frames, up to 8 frames long: recursion depth does not matter;
 *   - Python's list, dict and set comprehensions, which are functions only before Python 3.12;
 *   - the interpreter's native frames, and the frames of libc and its loader that start threads.
 * A stack that consists only of such interpreter and libc frames keeps them.
 *
 * Both names stay the same if
 *   - lines move, the program is rebuilt, or addresses change;
 *   - the versions of the system, of Python 3.11 or newer, or of libraries change,
 *     and their functions keep their names;
 *   - another user or machine has the program in another folder;
 *   - threads or ranks differ.
 * Both names change if the user's function, its file or its class is renamed or moved. They also
 * change between Python before 3.11, which has no qualified names, and later Python.
 *
 * The hash also changes if
 *   - another frame of the stack changes or is renamed;
 *   - only one of the recordings has native names;
 *   - the compiler inlines other functions;
 *   - the recorder cuts the stack (option `depth`).
 *
 * GMT_SITE_KEY_VERSION changes when these rules change. Files that store names should hold it.
 */

#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

enum { GMT_SITE_KEY_VERSION = 1 };

struct gmt_site_key {
	const char *group; /* "" for an empty stack */
	uint64_t hash;
};

struct gmt_site_keys {
	struct gmt_intern texts;
	GMT_VEC(uint32_t) places;             /* by place: id in texts */
	GMT_VEC(struct gmt_site_key) stacks;  /* by stack */
};

/*
 * Computes the names of all stacks of `traces`, which were made from `recording`. Neither is needed
 * afterwards. Fails only if memory is exhausted. `ret_keys` (zeroed) belongs to the caller; end it
 * with gmt_site_keys_fini.
 */
enum gmt_status gmt_site_keys_compute(struct gmt_site_keys *ret_keys,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	struct gmt_error *error);

/* Returns the names of a stack, by its id. */
const struct gmt_site_key *gmt_site_keys_stack(const struct gmt_site_keys *keys, uint32_t stack);

/* Returns the name of a frame, by the place's id. */
const char *gmt_site_keys_place(const struct gmt_site_keys *keys, uint32_t place);

void gmt_site_keys_fini(struct gmt_site_keys *keys);

struct gmt_site_key_text {
	char text[17];
};

/* Returns a hash as 16 hexadecimal digits. */
struct gmt_site_key_text gmt_site_key_text(uint64_t hash);

#endif

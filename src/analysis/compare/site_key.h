/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_SITE_KEY_H
#define GMT_ANALYSIS_COMPARE_SITE_KEY_H

/*
 * Names of sites that outlive a recording: what a stack is called in a baseline, a suppression or a
 * comparison, where ids, addresses and lines of another recording mean nothing.
 *
 * A frame is called
 *
 *	FILE:FUNCTION    Python: "train.py:Model.forward", "torch/nn/functional.py:linear"
 *	MODULE:FUNCTION  native: "libtorch_cpu.so:at::_ops::mm::call"
 *	MODULE           native without a name; "?" when the module is not known either
 *
 * FILE is relative to the installed packages or ("lib/python/...") to the standard library if it lies
 * in them, else to the recorded working directory, else its folder's name and its own. What tools make
 * up anew for each run is called by its tool: "<ipython>", "<torchinductor>". MODULE is the file's
 * name without versions, build hashes and ABI tags: "libcudart-9335f6a2.so.12.4.127" is "libcudart.so".
 * C++ functions go without parameters and template arguments. Control characters are '?'.
 *
 * A stack has two names. The group is the frame in which the user knows it (gmt_traces_own_line); many
 * stacks share one. The hash tells stacks of one group apart: FNV-1a (64 bits) over the frames' names,
 * leaf first, with a newline behind each, of which these are left out:
 *   - a repetition of what stands before it, of up to 8 frames: recursion of any depth is one;
 *   - Python's list, dict and set comprehensions, which are functions before 3.12 and none after;
 *   - the interpreter's native frames; the frames of libc and its loader, through which threads start.
 * A stack of nothing else keeps them.
 *
 * Both names stay the same when lines move, the program is built again, addresses are others, versions
 * of the system, of Python 3.11 and newer and of libraries change whose functions keep their names,
 * another user or machine has the program in another folder, threads or ranks are others.
 * Both change when the user's function, its file or a class around it is renamed or moved, and between
 * Python before 3.11 (which has no qualified names) and after.
 * The hash changes, moreover, when anything between is called another way, when native names are known
 * in one recording and not in the other, with what the compiler inlined, and where the recorder cut a
 * stack (option `depth`).
 * Changes of these rules are told by GMT_SITE_KEY_VERSION, which files that keep names should hold.
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
 * The names of all stacks of `traces`, which were made from `snapshot`; neither is needed later. Fails
 * only for lack of memory. `ret_keys` (zeroed) is the caller's; end it with gmt_site_keys_fini.
 */
enum gmt_status gmt_site_keys_init(struct gmt_site_keys *ret_keys, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, struct gmt_error *error);

/* Of a stack's id. */
const struct gmt_site_key *gmt_site_keys_stack(const struct gmt_site_keys *keys, uint32_t stack);

/* The name of one frame, by the place's id. */
const char *gmt_site_keys_place(const struct gmt_site_keys *keys, uint32_t place);

void gmt_site_keys_fini(struct gmt_site_keys *keys);

struct gmt_site_key_text {
	char text[17];
};

/* A hash as 16 hexadecimal digits. */
struct gmt_site_key_text gmt_site_key_text(uint64_t hash);

#endif

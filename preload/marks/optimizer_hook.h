/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_OPTIMIZER_HOOK_H
#define GMT_MARKS_OPTIMIZER_HOOK_H

/* What is registered with PyTorch's optimizers and with Python's atexit. */

enum gmt_optimizer_hooking {
	GMT_OPTIMIZER_HOOKED,      /* now, or before */
	GMT_OPTIMIZER_LATER,       /* PyTorch's optimizers are not imported yet, or one is just calling its hooks */
	GMT_OPTIMIZER_UNKNOWN,     /* a PyTorch without such hooks; *ret_why says so */
	GMT_OPTIMIZER_INTERRUPTED, /* by the user: KeyboardInterrupt is set */
};

/*
 * Registers both. With the GIL, in the main interpreter. Imports nothing; an exception that is set stays
 * set, none is added but the one told of. Idempotent.
 */
enum gmt_optimizer_hooking gmt_optimizer_hook(const char **ret_why);

#endif

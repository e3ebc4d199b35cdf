/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_INSTALL_OPTIMIZER_HOOK_H
#define GMT_MARKS_INSTALL_OPTIMIZER_HOOK_H

/* The hooks for PyTorch's optimizers and for Python's atexit. */

enum gmt_optimizer_hooking {
	GMT_OPTIMIZER_HOOKED,      /* now, or before */
	/* PyTorch's optimizers are not imported yet, or an optimizer is just calling its hooks */
	GMT_OPTIMIZER_LATER,
	GMT_OPTIMIZER_UNKNOWN,     /* this PyTorch lacks the hooks; *ret_why is the reason */
	GMT_OPTIMIZER_INTERRUPTED, /* by the user: KeyboardInterrupt is set */
};

/*
 * Registers both hooks. Needs the GIL, in the main interpreter. Imports nothing. An exception that
 * is already set stays set. The function itself sets only the exception of
 * GMT_OPTIMIZER_INTERRUPTED. Idempotent.
 */
enum gmt_optimizer_hooking gmt_install_optimizer_hook(const char **ret_why);

#endif

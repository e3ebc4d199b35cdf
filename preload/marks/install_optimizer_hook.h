/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_INSTALL_OPTIMIZER_HOOK_H
#define GMT_MARKS_INSTALL_OPTIMIZER_HOOK_H

/*
 * Installs two hooks in Python: one that PyTorch calls after each step of an optimizer, and one for
 * the end of the program (atexit).
 */

enum gmt_optimizer_hooking {
	GMT_OPTIMIZER_HOOKED, /* the hook is installed, by this call or an earlier one */
	/* Try later: PyTorch's optimizers are not imported yet, or an optimizer is calling its hooks */
	GMT_OPTIMIZER_LATER,
	GMT_OPTIMIZER_UNKNOWN, /* this PyTorch lacks the hooks; *ret_why is the reason */
	GMT_OPTIMIZER_INTERRUPTED, /* the user pressed Ctrl-C: KeyboardInterrupt is set */
};

/*
 * Installs both hooks. Needs the GIL, in the main interpreter. Imports nothing. An exception that
 * is already set stays set. The function sets an exception only with GMT_OPTIMIZER_INTERRUPTED.
 * Idempotent.
 */
enum gmt_optimizer_hooking gmt_install_optimizer_hook(const char **ret_why);

#endif

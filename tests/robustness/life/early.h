/* SPDX-License-Identifier: MIT */
#ifndef GMT_TEST_EARLY_H
#define GMT_TEST_EARLY_H

/* Does nothing. A program calls it so that the linker keeps the library. */
__attribute__((visibility("default"))) void early_use(void);

#endif

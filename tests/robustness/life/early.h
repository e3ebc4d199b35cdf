/* SPDX-License-Identifier: MIT */
#ifndef GMT_TEST_EARLY_H
#define GMT_TEST_EARLY_H

/* Does nothing. A program that calls it is linked to the library. */
__attribute__((visibility("default"))) void early_use(void);

#endif

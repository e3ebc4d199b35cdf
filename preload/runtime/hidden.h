/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_HIDDEN_H
#define GMT_RUNTIME_HIDDEN_H

/*
 * For data of this library that each event looks at. The compiler takes what is only declared for another library's, whose
 * address it would load from a table first; of what is declared so it knows that it lies here.
 */
#define GMT_HIDDEN __attribute__((visibility("hidden")))

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_HIDDEN_H
#define GMT_RUNTIME_HIDDEN_H

/*
 * For data of this library that each event reads. The compiler assumes that a variable that is only
 * declared may belong to another library, and loads its address from a table first. With this
 * attribute the compiler knows that the variable is in this library.
 */
#define GMT_HIDDEN __attribute__((visibility("hidden")))

#endif

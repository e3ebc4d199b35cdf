/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_HIDE_EXPORTS_H
#define GMT_INTERPOSE_HIDE_EXPORTS_H

/*
 * Does nothing. It is an indirect function (ifunc), and the loader runs its resolver before it
 * relocates the program. With the option exports=off, the resolver removes the recorder's CUDA
 * names from the symbol table (hide_exports.c).
 */
void gmt_hide_exports(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_HIDE_EXPORTS_H
#define GMT_INTERPOSE_HIDE_EXPORTS_H

/*
 * Does nothing when called. Because it can be called, the loader resolves it. The resolver removes
 * our CUDA names from the symbol table if the option exports=off asks for that (hide_exports.c).
 */
void gmt_hide_exports(void);

#endif

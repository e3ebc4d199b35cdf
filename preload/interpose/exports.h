/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_EXPORTS_H
#define GMT_INTERPOSE_EXPORTS_H

/*
 * Does nothing when called. That it can be called makes the loader resolve it, and resolving it
 * strikes our CUDA names out where the option exports=off asks for that (exports.c).
 */
void gmt_exports_decide(void);

#endif

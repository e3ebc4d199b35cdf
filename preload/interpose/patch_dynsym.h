/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_PATCH_DYNSYM_H
#define GMT_INTERPOSE_PATCH_DYNSYM_H

/*
 * Interposes look-ups that no preload can reach. A library opened with RTLD_DEEPBIND searches
 * itself and its dependencies before the global scope. So it finds libcuda's functions and the C
 * library's dlsym instead of the recorder's. The loader reads their addresses from the dynamic
 * symbol tables (.dynsym) of these libraries in memory. The recorder replaces the addresses of the
 * hooked names in those tables with its wrappers. Every later look-up then finds the wrappers.
 * Existing bindings stay.
 *
 * The recorder writes only to the tables, and each address with a single store. If the memory
 * cannot be made writable, nothing changes. The option dynsym=off switches this off.
 */

#include <stdbool.h>

/*
 * Writes the recorder's dlsym, dlvsym and dlerror into the C library's table. Call it once, from
 * the constructor.
 */
void gmt_dynsym_patch_libc(void);

/*
 * Writes the wrappers into the table of a driver that was loaded since the last call, and stores
 * the original functions. Idempotent, and cheap if there is nothing to do. Any thread. Does not
 * take the loader lock that is held while constructors run.
 */
void gmt_dynsym_patch_driver(void);

/*
 * Returns whether a table could not be written. The recorder may then miss calls of libraries
 * opened with RTLD_DEEPBIND.
 */
bool gmt_dynsym_is_read_only(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DYNSYM_H
#define GMT_INTERPOSE_DYNSYM_H

/*
 * Interposes look-ups that no preload can reach. A library opened with RTLD_DEEPBIND searches
 * itself and its dependencies before the global scope. So it finds libcuda's functions and the C
 * library's dlsym, and not the recorder's. The loader finds them through the symbol tables of these
 * libraries in memory. The recorder changes the values of the hooked names in those tables to its
 * wrappers. Every later look-up gets the wrappers, by any route. Existing bindings stay.
 *
 * The recorder writes only to the tables, and each value with a single store. If the memory cannot
 * be made writable, nothing changes. The option dynsym=off switches this off.
 */

#include <stdbool.h>

/*
 * Writes our dlsym, dlvsym and dlerror into the C library's table. Call once, from the constructor.
 */
void gmt_dynsym_patch_libc(void);

/*
 * Writes our wrappers into the driver's table and learns the original functions, if a driver is
 * loaded that was not seen yet. Idempotent, and cheap if there is nothing to do. Any thread. Takes
 * no loader lock that is held while constructors run.
 */
void gmt_dynsym_patch_driver(void);

/*
 * Returns whether a table could not be written. The recorder may then miss calls of libraries
 * opened with RTLD_DEEPBIND.
 */
bool gmt_dynsym_is_refused(void);

#endif

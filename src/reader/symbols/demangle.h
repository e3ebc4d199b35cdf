/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_DEMANGLE_H
#define GMT_READER_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

#include "containers/intern.h"

/*
 * Interns the readable form of a symbol. Demangles C++ names, with their parameters. Drops a
 * version after '@' and compiler suffixes (".cold", ".part.0", ".constprop.1", ".lto_priv.3").
 * Leaves other symbols unchanged. Returns false when out of memory.
 */
bool gmt_demangle(struct gmt_intern *strings, const char *symbol, uint32_t *ret_string);

#endif

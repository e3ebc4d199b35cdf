/* SPDX-License-Identifier: MIT */
#ifndef GMT_BASE_SANITIZER_H
#define GMT_BASE_SANITIZER_H

/*
 * Support for AddressSanitizer. Our memory consists of whole pages and pieces of them, in which
 * AddressSanitizer would detect no errors. In a build with it (-Db_sanitize=address), pages come
 * from malloc. Short vectors have exactly the requested length. Memory that an arena has not handed
 * out is poisoned.
 */

#if defined(__SANITIZE_ADDRESS__)
#define GMT_WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GMT_WITH_ASAN 1
#endif
#endif

#ifdef GMT_WITH_ASAN
#include <sanitizer/asan_interface.h>
#else
#define GMT_WITH_ASAN 0
#define ASAN_POISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(start, bytes) ((void)(start), (void)(bytes))
#endif

#endif

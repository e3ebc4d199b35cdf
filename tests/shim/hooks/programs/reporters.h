/* SPDX-License-Identifier: MIT */
#ifndef GMT_TEST_REPORTERS_H
#define GMT_TEST_REPORTERS_H

#include <cstddef>
#include <cstdint>

namespace c10
{

struct Device {
	int8_t type;
	int8_t index;
};

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, Device);
EXPORTED void reportMemoryUsageToProfiler(void *, int64_t, int64_t, int64_t, Device);
EXPORTED void reportOutOfMemoryToProfiler(int64_t, size_t, size_t, Device);
EXPORTED void reportOutOfMemoryToProfiler(int64_t, int64_t, int64_t, Device);

} // namespace c10

EXPORTED int calls_that_came_through();

#endif

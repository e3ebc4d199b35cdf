/* SPDX-License-Identifier: MIT */
#include "stub.h"

DEFINE_CREATE(curandCreateGenerator)
DEFINE_GET(curandGetVersion, STUB_MAJOR * 1000 + 300)
DEFINE_GET_PROPERTY(curandGetProperty, STUB_MAJOR, 3)

/* SPDX-License-Identifier: MIT */
#include "stub.h"

MAKES(curandCreateGenerator)
ANSWERS(curandGetVersion, STUB_MAJOR * 1000 + 300)
HAS_VERSION(curandGetProperty, STUB_MAJOR, 3)

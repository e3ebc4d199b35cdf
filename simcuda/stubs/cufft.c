/* SPDX-License-Identifier: MIT */
#include "stub.h"

ANSWERS(cufftGetVersion, STUB_MAJOR * 1000 + 400)
HAS_VERSION(cufftGetProperty, STUB_MAJOR, 4)

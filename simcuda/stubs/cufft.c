/* SPDX-License-Identifier: MIT */
#include "stub.h"

DEFINE_GET(cufftGetVersion, STUB_MAJOR * 1000 + 400)
DEFINE_GET_PROPERTY(cufftGetProperty, STUB_MAJOR, 4)

/* SPDX-License-Identifier: MIT */
#include "stub.h"

DEFINE_CREATE(cusolverDnCreate)
DEFINE_CREATE(cusolverSpCreate)
DEFINE_GET(cusolverGetVersion, STUB_MAJOR * 1000 + 700)
DEFINE_GET_PROPERTY(cusolverGetProperty, STUB_MAJOR, 7)

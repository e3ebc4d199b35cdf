/* SPDX-License-Identifier: MIT */
#include "stub.h"

MAKES(cusolverDnCreate)
MAKES(cusolverSpCreate)
ANSWERS(cusolverGetVersion, STUB_MAJOR * 1000 + 700)
HAS_VERSION(cusolverGetProperty, STUB_MAJOR, 7)

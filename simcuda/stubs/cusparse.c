/* SPDX-License-Identifier: MIT */
#include "stub.h"

MAKES(cusparseCreate)
ANSWERS_OF(cusparseGetVersion, STUB_MAJOR * 1000 + 510)
HAS_VERSION(cusparseGetProperty, STUB_MAJOR, 5)

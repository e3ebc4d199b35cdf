/* SPDX-License-Identifier: MIT */
#include "stub.h"

MAKES(cublasCreate_v2)
ANSWERS_OF(cublasGetVersion_v2, STUB_MAJOR * 10000 + 900)
HAS_VERSION(cublasGetProperty, STUB_MAJOR, 9)

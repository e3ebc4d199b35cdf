/* SPDX-License-Identifier: MIT */
#include "stub.h"

DEFINE_CREATE(cublasCreate_v2)
DEFINE_GET_OF_HANDLE(cublasGetVersion_v2, STUB_MAJOR * 10000 + 900)
DEFINE_GET_PROPERTY(cublasGetProperty, STUB_MAJOR, 9)

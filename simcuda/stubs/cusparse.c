/* SPDX-License-Identifier: MIT */
#include "stub.h"

DEFINE_CREATE(cusparseCreate)
DEFINE_GET_OF_HANDLE(cusparseGetVersion, STUB_MAJOR * 1000 + 510)
DEFINE_GET_PROPERTY(cusparseGetProperty, STUB_MAJOR, 5)

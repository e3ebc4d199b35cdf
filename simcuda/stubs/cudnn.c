/* SPDX-License-Identifier: MIT */
#include "stub.h"

enum { MINOR = STUB_MAJOR >= 9 ? 13 : 9 };

DEFINE_CREATE(cudnnCreate)
DEFINE_GET_PROPERTY(cudnnGetProperty, STUB_MAJOR, MINOR)

/* cuDNN 9 computes the version number with other factors than earlier versions. */
size_t cudnnGetVersion(void)
{
	return STUB_MAJOR * (STUB_MAJOR >= 9 ? 10000 : 1000) + MINOR * 100;
}

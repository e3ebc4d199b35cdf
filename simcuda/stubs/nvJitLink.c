/* SPDX-License-Identifier: MIT */
#include "stub.h"

long nvJitLinkVersion(unsigned int *ret_major, unsigned int *ret_minor)
{
	*ret_major = STUB_MAJOR;
	*ret_minor = STUB_MAJOR == 12 ? 9 : 2;
	return 0;
}

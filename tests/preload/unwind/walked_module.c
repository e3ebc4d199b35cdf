/* SPDX-License-Identifier: MIT */
/*
 * Compiled with several values of WALKED_BYTES: the code has the same addresses, the frames have
 * other sizes.
 */
__attribute__((visibility("default"))) int walked(int (*back)(void *where));

int walked(int (*back)(void *where))
{
	volatile char buffer[WALKED_BYTES];

	buffer[0] = 1;
	return back(__builtin_return_address(0)) + buffer[0];
}

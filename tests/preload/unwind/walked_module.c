/* SPDX-License-Identifier: MIT */
/*
 * Compiled with several values of WALKED_BYTES: the code has the same addresses, the frames have
 * other sizes.
 */
__attribute__((visibility("default"))) int walked(int (*back)(void *where));

int walked(int (*back)(void *where))
{
	volatile char room[WALKED_BYTES];

	room[0] = 1;
	return back(__builtin_return_address(0)) + room[0];
}

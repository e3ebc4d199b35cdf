/* SPDX-License-Identifier: MIT */
/*
 * A library that is preloaded into the reader. It does what another process may do at the worst
 * moment. The variable SWAP_AT names a function: `fsync`, or `syscall` for renameat2. When the
 * reader calls that function, this library renames SWAP_FROM to SWAP_TO, or raises the signal
 * SWAP_RAISE.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void swap(const char *function)
{
	static int done;
	const char *at = getenv("SWAP_AT"), *number = getenv("SWAP_RAISE");

	if (done || !at || strcmp(at, function))
		return;
	done = 1;
	if (number)
		raise(atoi(number));
	else if (rename(getenv("SWAP_FROM"), getenv("SWAP_TO")))
		abort();
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	swap("fsync");
	return next(fd);
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long values[6];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		values[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_renameat2)
		swap("syscall");
	return next(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

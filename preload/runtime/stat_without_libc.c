/* SPDX-License-Identifier: MIT */
/*
 * Implements stat for the recorder by system calls. Before glibc 2.33, stat() and fstat() are calls
 * of the functions below in libc, which other preloaded libraries replace. In libfaketime's version
 * the recorder's writer would wait for a semaphore that libfaketime removes first. So the recorder
 * has its own hidden versions. From glibc 2.33 on, they are never called.
 *
 * On x86-64 and AArch64 the kernel writes the structs that libc defines, and `version` has one
 * value.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int __fxstatat64(int version, int folder, const char *path, struct stat64 *status,
	int flags);
HIDDEN int __fxstat64(int version, int fd, struct stat64 *status);
HIDDEN int __xstat64(int version, const char *path, struct stat64 *status);
HIDDEN int __lxstat64(int version, const char *path, struct stat64 *status);
HIDDEN int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);
HIDDEN int __fxstat(int version, int fd, struct stat *status);
HIDDEN int __xstat(int version, const char *path, struct stat *status);
HIDDEN int __lxstat(int version, const char *path, struct stat *status);

int __fxstatat64(int version, int folder, const char *path, struct stat64 *status, int flags)
{
	(void)version;
	return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

int __fxstat64(int version, int fd, struct stat64 *status)
{
	(void)version;
	return (int)syscall(SYS_fstat, fd, status);
}

int __xstat64(int version, const char *path, struct stat64 *status)
{
	return __fxstatat64(version, AT_FDCWD, path, status, 0);
}

int __lxstat64(int version, const char *path, struct stat64 *status)
{
	return __fxstatat64(version, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags)
{
	return __fxstatat64(version, folder, path, (struct stat64 *)status, flags);
}

int __fxstat(int version, int fd, struct stat *status)
{
	return __fxstat64(version, fd, (struct stat64 *)status);
}

int __xstat(int version, const char *path, struct stat *status)
{
	return __xstat64(version, path, (struct stat64 *)status);
}

int __lxstat(int version, const char *path, struct stat *status)
{
	return __lxstat64(version, path, (struct stat64 *)status);
}

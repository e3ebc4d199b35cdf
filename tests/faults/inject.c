/* SPDX-License-Identifier: MIT */
/*
 * Preloaded next to the recorder. Makes only calls of the recorder fail.
 *
 *	FAULTS=function=ERROR[@FIRST[-LAST]],...
 *	    the calls number FIRST to LAST fail (default: all; without LAST: from FIRST on). ERROR is
 *	    the name of an error, or SHORT (writes half), HANG (never returns), SLOW (half a second)
 *	FAULTS_FILE=TEXT    a call about a file fails only if the path contains TEXT
 *	FAULTS_DURING_REPLACEMENT=TEXT
 *	    a call about an open file fails only while the file that will replace it exists. The name of
 *	    that file is the name of the open file followed by TEXT
 *	FAULTS_BEGIN_FILE=PATH  before this file exists, calls do not fail and are not counted
 *	FAULTS_CLOCK=1      CLOCK_REALTIME jumps a day forward or back at each read
 *	FAULTS_DENY=call=ERROR,...  seccomp refuses these calls of every thread with ERROR
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FAULTS = 8, MAX_DENIED = 16, SHORT = -1, HANG = -2, SLOW = -3 };

#define EXPORT __attribute__((visibility("default")))
#define CALLER_IS_RECORDER() is_in_recorder((uintptr_t)__builtin_return_address(0))

static const struct error {
	const char *name;
	int number;
} errors[] = {
	{ "ENOSPC", ENOSPC },
	{ "EDQUOT", EDQUOT },
	{ "EIO", EIO },
	{ "ESTALE", ESTALE },
	{ "EINTR", EINTR },
	{ "EFBIG", EFBIG },
	{ "EROFS", EROFS },
	{ "EAGAIN", EAGAIN },
	{ "ENOMEM", ENOMEM },
	{ "EPERM", EPERM },
	{ "EACCES", EACCES },
	{ "ENOSYS", ENOSYS },
	{ "EOPNOTSUPP", EOPNOTSUPP },
	{ "EMFILE", EMFILE },
	{ "EINVAL", EINVAL },
	{ "SHORT", SHORT },
	{ "HANG", HANG },
	{ "SLOW", SLOW },
};

static const struct system_call {
	const char *name;
	long number;
} system_calls[] = {
	{ "prctl", SYS_prctl },
	{ "sched_setscheduler", SYS_sched_setscheduler },
	{ "madvise", SYS_madvise },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "fallocate", SYS_fallocate },
	{ "statx", SYS_statx },
	{ "getcpu", SYS_getcpu },
	{ "mprotect", SYS_mprotect },
	{ "memfd_create", SYS_memfd_create },
	{ "rt_sigtimedwait", SYS_rt_sigtimedwait },
	{ "ftruncate", SYS_ftruncate },
	{ "uname", SYS_uname },
	{ "getdents64", SYS_getdents64 },
	{ "sched_yield", SYS_sched_yield },
	{ "gettid", SYS_gettid },
	{ "kill", SYS_kill },
	{ "fcntl", SYS_fcntl },
	{ "getcwd", SYS_getcwd },
	{ "socket", SYS_socket },
	{ "ioctl", SYS_ioctl },
	{ "readlinkat", SYS_readlinkat },
	{ "clock_gettime", SYS_clock_gettime },
	{ "ppoll", SYS_ppoll },
	{ "rseq", SYS_rseq },
	{ "clone3", SYS_clone3 },
	{ "mremap", SYS_mremap },
#ifdef SYS_pidfd_getfd
	{ "pidfd_getfd", SYS_pidfd_getfd },
#endif
#ifdef SYS_poll
	{ "poll", SYS_poll },
	{ "readlink", SYS_readlink },
	{ "unlink", SYS_unlink },
	{ "mkdir", SYS_mkdir },
#endif
};

static struct fault {
	char function[32];
	int error;
	unsigned long first, last;
	_Atomic unsigned long seen;
} faults[MAX_FAULTS];

static const char *only_file, *only_during_replacement, *begin_file;
static bool has_jumping_clock;
static uintptr_t recorder_start, recorder_end;

static bool is_in_recorder(uintptr_t address)
{
	return address >= recorder_start && address < recorder_end;
}

static int find_error(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (strlen(errors[i].name) == length && strncmp(errors[i].name, name, length) == 0)
			return errors[i].number;
	abort();
}

/* Parses one item up to a comma. Returns the text after it. */
static const char *parse_fault(const char *text, struct fault *fault)
{
	size_t name = strcspn(text, "="), error = strcspn(text + name + 1, "@,");

	snprintf(fault->function, sizeof(fault->function), "%.*s", (int)name, text);
	fault->error = find_error(text + name + 1, error);
	fault->first = 1;
	fault->last = ULONG_MAX;
	text += name + 1 + error;
	if (*text == '@') {
		char *end;

		fault->first = strtoul(text + 1, &end, 10);
		if (*end == '-')
			fault->last = strtoul(end + 1, &end, 10);
		text = end;
	}
	return *text ? text + 1 : text;
}

static int find_recorder(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (!strstr(info->dlpi_name, "/libgpumemtrace.so"))
		return 0;
	recorder_start = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			recorder_end =
				info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1;
}

static void deny(const char *text)
{
	struct sock_filter program[2 * MAX_DENIED + 2];
	unsigned short length = 0;

	program[length++] =
		(struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	while (*text) {
		size_t name = strcspn(text, "="), error = strcspn(text + name + 1, ",");
		long number = -1;

		for (size_t i = 0; i < sizeof(system_calls) / sizeof(*system_calls); i++)
			if (strlen(system_calls[i].name) == name &&
				strncmp(system_calls[i].name, text, name) == 0)
				number = system_calls[i].number;
		if (number < 0 || length > 2 * MAX_DENIED)
			abort();
		program[length++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
		program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
			SECCOMP_RET_ERRNO | (unsigned)find_error(text + name + 1, error));
		text += name + 1 + error;
		text += *text == ',';
	}
	program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ length, program }))
		abort();
}

__attribute__((constructor)) static void on_load(void)
{
	const char *text = getenv("FAULTS"), *denied = getenv("FAULTS_DENY");

	only_file = getenv("FAULTS_FILE");
	only_during_replacement = getenv("FAULTS_DURING_REPLACEMENT");
	begin_file = getenv("FAULTS_BEGIN_FILE");
	has_jumping_clock = getenv("FAULTS_CLOCK") != NULL;
	dl_iterate_phdr(find_recorder, NULL);
	for (struct fault *fault = faults; text && *text && fault < faults + MAX_FAULTS; fault++)
		text = parse_fault(text, fault);
	if (denied)
		deny(denied);
}

static bool is_before_begin(void)
{
	int error = errno;
	bool answer = begin_file && access(begin_file, F_OK);

	errno = error;
	return answer;
}

/* Returns the error with which this call must fail, or 0. Does not return if the error is HANG. */
static int fault_of(const char *function, const char *path)
{
	if ((path && only_file && !strstr(path, only_file)) || is_before_begin())
		return 0;
	for (struct fault *fault = faults; fault < faults + MAX_FAULTS && fault->function[0]; fault++) {
		if (strcmp(fault->function, function) != 0)
			continue;

		unsigned long seen = atomic_fetch_add(&fault->seen, 1) + 1;
		if (seen < fault->first || seen > fault->last)
			continue;
		while (fault->error == HANG)
			pause();
		return fault->error;
	}
	return 0;
}

static int fault_of_file(const char *function, int fd)
{
	char link[64], path[PATH_MAX] = "", replacement[PATH_MAX + 32];

	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		path[0] = 0;
	snprintf(replacement, sizeof(replacement), "%s%.31s", path,
		only_during_replacement ? only_during_replacement : "");
	return only_during_replacement && access(replacement, F_OK) ? 0 : fault_of(function, path);
}

#define FAIL_IF(error) \
	do { \
		int number = (error); \
		if (number) { \
			errno = number; \
			return -1; \
		} \
	} while (0)

EXPORT int open64(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode = 0;

	if (flags & O_CREAT) {
		va_start(arguments, flags);
		mode = va_arg(arguments, mode_t);
		va_end(arguments);
	}
	if (CALLER_IS_RECORDER())
		FAIL_IF(fault_of("open", path));
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t length)
{
	int failure = CALLER_IS_RECORDER() ? fault_of_file("write", fd) : 0;

	if (failure == SHORT)
		length = (length + 1) / 2;
	else
		FAIL_IF(failure);
	return syscall(SYS_write, fd, bytes, length);
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
	if (CALLER_IS_RECORDER())
		FAIL_IF(fault_of_file("pwrite", fd));
	return syscall(SYS_pwrite64, fd, bytes, length, offset);
}

EXPORT ssize_t pread64(int fd, void *bytes, size_t length, off_t offset)
{
	if (CALLER_IS_RECORDER())
		FAIL_IF(fault_of_file("pread", fd));
	return syscall(SYS_pread64, fd, bytes, length, offset);
}

/* Also handles SLOW: the call takes half a second. */
EXPORT int fdatasync(int fd)
{
	int failure = CALLER_IS_RECORDER() ? fault_of_file("fdatasync", fd) : 0;

	if (failure == SLOW)
		usleep(500000);
	else
		FAIL_IF(failure);
	return (int)syscall(SYS_fdatasync, fd);
}

EXPORT int rename(const char *from, const char *to)
{
	if (CALLER_IS_RECORDER())
		FAIL_IF(fault_of("rename", from));
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int ftruncate64(int fd, off_t length)
{
	if (CALLER_IS_RECORDER())
		FAIL_IF(fault_of_file("ftruncate", fd));
	return (int)syscall(SYS_ftruncate, fd, length);
}

EXPORT int posix_fallocate64(int fd, off_t offset, off_t length)
{
	int failure = CALLER_IS_RECORDER() ? fault_of_file("fallocate", fd) : 0;

	return failure ? failure : syscall(SYS_fallocate, fd, 0, offset, length) ? errno : 0;
}

EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	int failure = CALLER_IS_RECORDER() ? fault_of("mmap", NULL) : 0;

	if (failure) {
		errno = failure;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

/* Counts MADV_POPULATE_WRITE as a fallocate, because it allocates space without an open file. */
EXPORT int madvise(void *address, size_t length, int advice);
EXPORT int madvise(void *address, size_t length, int advice)
{
	enum { POPULATE_WRITE = 23 };

	FAIL_IF(CALLER_IS_RECORDER() && length && advice == POPULATE_WRITE ? fault_of("fallocate", NULL)
																	   : 0);
	return (int)syscall(SYS_madvise, address, length, advice);
}

EXPORT int mprotect(void *address, size_t length, int protection)
{
	if (CALLER_IS_RECORDER())
		FAIL_IF(fault_of("mprotect", NULL));
	return (int)syscall(SYS_mprotect, address, length, protection);
}

EXPORT int mkdir(const char *path, mode_t mode);
EXPORT int mkdir(const char *path, mode_t mode)
{
	if (CALLER_IS_RECORDER())
		FAIL_IF(fault_of("mkdir", path));
	return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*work)(void *),
	void *argument)
{
	int (*original)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int failure = CALLER_IS_RECORDER() ? fault_of("pthread_create", NULL) : 0;

	*(void **)&original = dlsym(RTLD_NEXT, "pthread_create");
	return failure ? failure : original(id, attributes, work, argument);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	static _Atomic long reads;
	int failure = (int)syscall(SYS_clock_gettime, clock, ret_time);

	if (!failure && has_jumping_clock && clock == CLOCK_REALTIME && CALLER_IS_RECORDER())
		ret_time->tv_sec += (atomic_fetch_add(&reads, 1) % 3 - 1) * 86400;
	return failure;
}

/* SPDX-License-Identifier: MIT */
#include "lifecycle/exec.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "writer/session.h"
#include "interpose/originals.h"

extern char **environ;

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execv)(const char *, char *const[]);
	int (*execvp)(const char *, char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
} originals;

/*
 * Finds the next definition of each function (RTLD_NEXT), because other preloaded libraries may
 * replace them too. execveat is missing before glibc 2.34.
 */
void gmt_exec_init(void)
{
	*(void **)&originals.execve = gmt_original_dlsym(RTLD_NEXT, "execve");
	*(void **)&originals.execv = gmt_original_dlsym(RTLD_NEXT, "execv");
	*(void **)&originals.execvp = gmt_original_dlsym(RTLD_NEXT, "execvp");
	*(void **)&originals.execvpe = gmt_original_dlsym(RTLD_NEXT, "execvpe");
	*(void **)&originals.fexecve = gmt_original_dlsym(RTLD_NEXT, "fexecve");
	*(void **)&originals.execveat = gmt_original_dlsym(RTLD_NEXT, "execveat");
}

/*
 * Writes the events to the file before an exec. `original` points to the pointer to the original
 * function. Returns false with ENOSYS if there is no original function.
 */
static bool prepare_exec(void *original)
{
	int kept_errno = errno;

	gmt_session_before_exec();
	errno = kept_errno;
	if (!*(void **)original)
		gmt_exec_init();
	if (!*(void **)original)
		errno = ENOSYS;
	return *(void **)original != NULL;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	return prepare_exec(&originals.execve) ? originals.execve(path, arguments, environment) : -1;
}

EXPORT int execv(const char *path, char *const arguments[])
{
	return prepare_exec(&originals.execv) ? originals.execv(path, arguments) : -1;
}

EXPORT int execvp(const char *file, char *const arguments[])
{
	return prepare_exec(&originals.execvp) ? originals.execvp(file, arguments) : -1;
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return prepare_exec(&originals.execvpe) ? originals.execvpe(file, arguments, environment) : -1;
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
	return prepare_exec(&originals.fexecve) ? originals.fexecve(fd, arguments, environment) : -1;
}

EXPORT int execveat(int folder, const char *path, char *const arguments[],
	char *const environment[], int flags)
{
	return prepare_exec(&originals.execveat)
		? originals.execveat(folder, path, arguments, environment, flags)
		: -1;
}

/* Counts the arguments in `list`, including the NULL at the end. */
static size_t count_arguments(va_list *list)
{
	size_t count = 0;

	do
		count++;
	while (va_arg(*list, char *));
	return count;
}

/*
 * Stores `first` and the following arguments from `list` in an array, including the NULL at the
 * end.
 */
static void copy_arguments(char **arguments, const char *first, va_list *list)
{
	for (*arguments++ = (char *)(uintptr_t)first; (*arguments = va_arg(*list, char *)) != NULL;
		arguments++)
		;
}

/*
 * Makes an array of the arguments on the stack, as libc does: the heap may be unusable between fork
 * and exec. Leaves `list` at the NULL.
 */
#define ARRAY_OF_ARGUMENTS(name, first) \
	va_list list; \
	va_start(list, first); \
	char **name = __builtin_alloca((1 + count_arguments(&list)) * sizeof(*name)); \
	va_end(list); \
	va_start(list, first); \
	copy_arguments(name, first, &list)

EXPORT int execl(const char *path, const char *first, ...)
{
	ARRAY_OF_ARGUMENTS(arguments, first);
	va_end(list);
	return execve(path, arguments, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	ARRAY_OF_ARGUMENTS(arguments, first);

	char *const *environment = va_arg(list, char *const *);
	va_end(list);
	return execve(path, arguments, environment);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	ARRAY_OF_ARGUMENTS(arguments, first);
	va_end(list);
	return execvp(file, arguments);
}

/* SPDX-License-Identifier: MIT */
/*
 * A preloaded library that writes the state of its process to a file, once before main and once in
 * its destructor. LD_PRELOAD has one copy before and one after the recorder. The loader runs
 * constructors from the last preload to the first, and destructors the other way. So the first copy
 * sees the state after the recorder's constructor, and the last copy the state after the recorder's
 * destructor. GMT_WITNESS names a folder. Each process appends its lines to the file WITNESS_NAME
 * there, by one write.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "state.h"

static void write_down(const char *when, int number)
{
	const char *folder = getenv("GMT_WITNESS"), *said;
	char path[4096];
	struct gmt_state_text *text;
	int fd;

	if (!folder)
		return;
	/* Takes no memory from the heap, which belongs to the program. */
	text = mmap(NULL, sizeof(*text), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED)
		return;
	gmt_state_add(text, "\x1e%s %s\n", program_invocation_short_name, when);
	gmt_state_add(text, "errno: %d\n", number);
	gmt_state_report(text, GMT_STATE_OF_PROCESS | GMT_STATE_OF_FILES | GMT_STATE_OF_MEMORY);
	said = dlerror();
	gmt_state_add(text, "dlerror: %s\n", said ? said : "nothing");
	snprintf(path, sizeof(path), "%s/" WITNESS_NAME, folder);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0 && write(fd, text->bytes, text->length) < 0)
		abort();
	if (fd >= 0)
		close(fd);
	munmap(text, sizeof(*text));
}

__attribute__((constructor)) static void begins(void)
{
	int number = errno;

	write_down("begins", number);
	errno = number;
}

__attribute__((destructor)) static void ends(void)
{
	write_down("ends", 0);
}

/* SPDX-License-Identifier: MIT */
#include "files/replacement.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 3000, REMOVERS = 2 };

struct recording {
	char folder[64], path[128];
	int fd;
	struct gmt_file_identity file;
};

static void begin(struct recording *recording)
{
	strcpy(recording->folder, "/tmp/gpumemtrace-test.XXXXXX");
	assert_non_null(mkdtemp(recording->folder));
	snprintf(recording->path, sizeof(recording->path), "%s/a.gmt.gz", recording->folder);
	recording->fd = open(recording->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(recording->fd >= 0);
	assert_true(gmt_file_identity_of(recording->fd, &recording->file));
}

static void end(struct recording *recording)
{
	close(recording->fd);
	unlink(recording->path);
	assert_int_equal(rmdir(recording->folder), 0);
}

static bool is_there(const struct gmt_replacement *replacement)
{
	struct stat status;

	return !lstat(replacement->path, &status) && status.st_dev == replacement->file.device &&
		status.st_ino == replacement->file.inode;
}

/* Starts a process that acts as another recorder in this folder: it removes orphans in a loop. */
static pid_t start_remover(const struct recording *recording)
{
	pid_t child = fork();

	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!child)
		gmt_replacement_remove_orphans(recording->fd, &recording->file);
	return child;
}

static void remove_orphans_keeps_the_new_file_of_a_live_recorder(void **state)
{
	struct recording recording;
	pid_t removers[REMOVERS];
	char why[256];
	int refused = 0;

	(void)state;
	begin(&recording);
	for (int i = 0; i < REMOVERS; i++)
		removers[i] = start_remover(&recording);
	for (int i = 0; i < ROUNDS; i++) {
		struct gmt_replacement replacement;

		/* The removers may hold every name at this moment. The recorder then tries again. */
		if (!gmt_replacement_open(&replacement, recording.fd, &recording.file, why, sizeof(why))) {
			refused++;
			continue;
		}
		if (!is_there(&replacement))
			fail_msg("round %d: somebody has removed it", i);
		gmt_replacement_remove(&replacement);
	}
	assert_true(refused < ROUNDS / 10);
	for (int i = 0; i < REMOVERS; i++) {
		kill(removers[i], SIGKILL);
		waitpid(removers[i], NULL, 0);
	}
	end(&recording);
}

static void remove_orphans_removes_only_files_of_dead_recorders(void **state)
{
	static const char *const names[] = { "b.gmt.gz.fold", "c.gmt.gz.fold3", "d.gmt.gz", "e.fold",
		"f.gmt.gz.folder" };
	struct recording recording;
	struct gmt_replacement replacement;
	char why[256], path[256];

	(void)state;
	begin(&recording);
	assert_true(gmt_replacement_open(&replacement, recording.fd, &recording.file, why,
		sizeof(why)));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", recording.folder, names[i]);
		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	gmt_replacement_remove_orphans(recording.fd, &recording.file);
	assert_true(is_there(&replacement));
	gmt_replacement_remove(&replacement);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", recording.folder, names[i]);
		assert_int_equal(unlink(path) == 0, i >= 2);
	}
	end(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remove_orphans_keeps_the_new_file_of_a_live_recorder),
		cmocka_unit_test(remove_orphans_removes_only_files_of_dead_recorders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "tools/recordings/shared_recordings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/recordings/running_processes.h"
#include "format/encoding/decode_rows.h"
#include "shared_memory/shared_recording_owner.h"
#include "source/source.h"

/*
 * A recorder keeps at most 64 files. The limit keeps each verb fast even if other processes fill
 * the folder.
 */
enum { MAX_ENTRIES = 4096 };

/* The data that is equal in a recording and in its shared-memory recording. */
struct identity {
	bool has_process; /* the recording has its first record */
	uint32_t pid;
	uint64_t start_time_ns, start_stamp;
	char recording[GMT_UUID_BYTES], run[GMT_UUID_BYTES], host[256];
};

/* A search for the shared memory of one recording. */
struct wanted {
	const char *whole_path;
	struct stat status;
	struct identity identity;
	bool is_just_begun;
	struct gmt_shared_recording *found;
	uint32_t recording_pid;
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

/* Visits a file of the folder that is open as `folder`: its path may lead elsewhere by now. */
static bool visit_entry(int folder, const char *folder_path, const char *name, uid_t owner,
	gmt_shared_recordings_visit *visit, void *context)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct gmt_shared_recording *shared_recording;
	struct gmt_error error = { 0 };
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode) ||
		status.st_uid != owner)
		return true;
	snprintf(path, sizeof(path), "%s/%s", folder_path, name);
	if (gmt_shared_recording_open_at(folder, name, path, &shared_recording, &error))
		return visit(context, NULL, &error);
	/* Another file may have taken the name since fstatat. */
	if (gmt_shared_recording_file_info(shared_recording)->user != owner) {
		gmt_shared_recording_close(shared_recording);
		return true;
	}
	return visit(context, shared_recording, NULL);
}

static bool is_private(int folder, uid_t owner)
{
	struct stat status;

	return !fstat(folder, &status) && status.st_uid == owner &&
		!(status.st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Visits the shared-memory recordings of `owner` in a folder. Returns whether the search continues.
 */
static bool visit_folder(const char *path, const char *prefix, uid_t owner, bool must_be_private,
	gmt_shared_recordings_visit *visit, void *context)
{
	int fd = open(path,
		O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (must_be_private ? O_NOFOLLOW : 0));
	DIR *entries = fd >= 0 && (!must_be_private || is_private(fd, owner)) ? fdopendir(fd) : NULL;
	bool continues = true;
	int seen = 0;

	if (!entries) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	for (struct dirent *entry; continues && seen < MAX_ENTRIES && (entry = readdir(entries));)
		if (!strncmp(entry->d_name, prefix, strlen(prefix)) && ends_with(entry->d_name, ".area")) {
			continues = visit_entry(dirfd(entries), path, entry->d_name, owner, visit, context);
			seen++;
		}
	closedir(entries);
	return continues;
}

static bool visit_shm(uid_t owner, gmt_shared_recordings_visit *visit, void *context)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "/dev/shm/gpumemtrace-%u", (unsigned)owner);
	return visit_folder(folder, "", owner, true, visit, context);
}

void gmt_shared_recordings_each(const char *extra_folder, gmt_shared_recordings_visit *visit,
	void *context)
{
	if (visit_shm(geteuid(), visit, context) && extra_folder)
		visit_folder(extra_folder, ".gpumemtrace-", geteuid(), false, visit, context);
}

const char *gmt_shared_recordings_unusable_reason(
	const struct gmt_shared_recording *shared_recording)
{
	if (!gmt_shared_recording_is_of_this_boot(gmt_shared_recording_owner(shared_recording)))
		return "this machine was restarted after the recording, or the recording was made on "
			   "another machine";
	return gmt_shared_recording_is_alive(shared_recording) ? "its process is still running" : NULL;
}

static void copy_slice(const struct gmt_slice *slice, char *ret_text, size_t bytes)
{
	snprintf(ret_text, bytes, "%.*s", (int)slice->length, slice->text ? slice->text : "");
}

/* Reads the first record, if the file already has it. */
static void read_identity(int fd, struct identity *ret_identity)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_source *source;
	struct gmt_block block;
	const void *rows;

	*ret_identity = (struct identity){ 0 };
	if (gmt_source_open_descriptor(fd, "", NULL, &source, NULL))
		return;
	if (!gmt_source_next(source, &block, NULL) && block.kind == GMT_RECORD_PROCESS && block.rows &&
		!gmt_decode_rows(&decoder, &block, &rows, NULL)) {
		const struct gmt_process *process = rows;

		ret_identity->has_process = true;
		ret_identity->pid = process->pid;
		ret_identity->start_time_ns = process->start_time_ns;
		ret_identity->start_stamp = process->start_stamp;
		copy_slice(&process->recording, ret_identity->recording, sizeof(ret_identity->recording));
		copy_slice(&process->run, ret_identity->run, sizeof(ret_identity->run));
		copy_slice(&process->host, ret_identity->host, sizeof(ret_identity->host));
	}
	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
}

static bool is_same_recording(const struct identity *identity,
	const struct gmt_shared_recording_owner *owner)
{
	return identity->has_process && owner->pid == identity->pid &&
		owner->start_time_ns == identity->start_time_ns &&
		owner->start_stamp == identity->start_stamp &&
		!strcmp(owner->recording, identity->recording) && !strcmp(owner->host, identity->host);
}

static bool is_same_file(const struct stat *status, const struct gmt_shared_recording_owner *owner)
{
	return owner->file_device == status->st_dev && owner->file_inode == status->st_ino;
}

bool gmt_shared_recordings_match(const struct gmt_shared_recording *shared_recording, int fd)
{
	const struct gmt_shared_recording_owner *owner = gmt_shared_recording_owner(shared_recording);
	struct identity identity;
	struct stat status;

	read_identity(fd, &identity);
	if (identity.has_process)
		return is_same_recording(&identity, owner);
	/*
	 * The file has no first record yet. So it must be the same file, and it must hold no data that
	 * could be lost.
	 */
	return !fstat(fd, &status) && is_same_file(&status, owner) && gmt_source_is_just_begun(fd);
}

/*
 * Opens a regular file. Returns -1 for other files: opening and closing a pipe would end its
 * writer.
 */
static int open_file(const char *path)
{
	struct stat status;

	return stat(path, &status) || !S_ISREG(status.st_mode)
		? -1
		: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool gmt_recording_read_run_name(const char *path, char ret_run[GMT_UUID_BYTES])
{
	int fd = open_file(path);
	struct identity identity = { 0 };

	if (fd >= 0) {
		read_identity(fd, &identity);
		close(fd);
	}
	strcpy(ret_run, identity.run);
	return identity.has_process;
}

/*
 * Returns whether the memory belongs to the wanted recording. A moved or copied file is matched by
 * its first record. A file without a first record is matched by its inode and its path, because the
 * inode number of a removed file is soon reused.
 */
static bool is_wanted(const struct wanted *wanted, const struct gmt_shared_recording_owner *owner)
{
	if (wanted->identity.has_process)
		return is_same_recording(&wanted->identity, owner);
	return wanted->is_just_begun && is_same_file(&wanted->status, owner) &&
		!strcmp(owner->path, wanted->whole_path);
}

static bool keep_wanted(void *context, struct gmt_shared_recording *shared_recording,
	const struct gmt_error *error)
{
	struct wanted *wanted = context;
	const struct gmt_shared_recording_owner *owner =
		shared_recording ? gmt_shared_recording_owner(shared_recording) : NULL;
	bool is_of = owner && gmt_shared_recording_file_info(shared_recording)->names == 1 &&
		is_wanted(wanted, owner);

	(void)error;
	if (is_of && !gmt_shared_recordings_unusable_reason(shared_recording)) {
		wanted->found = shared_recording;
		return false;
	}
	/* Only for the file that the process writes to, not for a copy of it. */
	if (is_of && gmt_shared_recording_is_alive(shared_recording) &&
		(is_same_file(&wanted->status, owner) || atomic_load(&owner->is_being_replaced)))
		wanted->recording_pid = owner->pid;
	gmt_shared_recording_close(shared_recording);
	return true;
}

/*
 * Finds a recorder by its control page, if its memory has no name or lies in a folder of another
 * user.
 */
static bool match_running(void *context, const struct gmt_running_process *running)
{
	struct wanted *wanted = context;

	if (!strcmp(running->control.path, wanted->whole_path) &&
		running->control.state != GMT_CONTROL_ENDED &&
		running->control.state != GMT_CONTROL_STOPPED)
		wanted->recording_pid = running->pid;
	return !wanted->recording_pid;
}

struct gmt_shared_recording *gmt_shared_recordings_find_open(int fd, const char *whole_path,
	uint32_t *ret_recording_pid)
{
	struct wanted wanted = { .whole_path = whole_path };
	const char *slash = strrchr(whole_path, '/');
	char folder[PATH_MAX];

	if (ret_recording_pid)
		*ret_recording_pid = 0;
	if (fstat(fd, &wanted.status) || !S_ISREG(wanted.status.st_mode) || !slash)
		return NULL;
	read_identity(fd, &wanted.identity);
	wanted.is_just_begun = !wanted.identity.has_process && gmt_source_is_just_begun(fd);
	if (visit_shm(wanted.status.st_uid, keep_wanted, &wanted)) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - whole_path + 1), whole_path);
		visit_folder(folder, ".gpumemtrace-", wanted.status.st_uid, false, keep_wanted, &wanted);
	}
	if (!wanted.found && !wanted.recording_pid && ret_recording_pid)
		gmt_running_processes_each(match_running, &wanted);
	if (ret_recording_pid)
		*ret_recording_pid = wanted.found ? 0 : wanted.recording_pid;
	return wanted.found;
}

struct gmt_shared_recording *gmt_shared_recordings_find(const char *path,
	uint32_t *ret_recording_pid)
{
	char whole_path[PATH_MAX];
	struct gmt_shared_recording *shared_recording;
	int fd = open_file(path);

	if (ret_recording_pid)
		*ret_recording_pid = 0;
	if (fd < 0)
		return NULL;
	shared_recording = realpath(path, whole_path)
		? gmt_shared_recordings_find_open(fd, whole_path, ret_recording_pid)
		: NULL;
	close(fd);
	return shared_recording;
}

bool gmt_shared_recordings_remove(const struct gmt_shared_recording *shared_recording)
{
	const char *path = gmt_shared_recording_path(shared_recording), *slash = strrchr(path, '/');
	char folder_path[PATH_MAX + NAME_MAX + 2];
	int folder;
	bool is_done = false;

	snprintf(folder_path, sizeof(folder_path), "%.*s", slash ? (int)(slash - path + 1) : 1,
		slash ? path : ".");
	folder = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	if (gmt_file_identity_is_at(folder, slash ? slash + 1 : path,
			&gmt_shared_recording_file_info(shared_recording)->file))
		is_done = !unlinkat(folder, slash ? slash + 1 : path, 0);
	else
		errno = ENOENT;

	int kept_errno = errno;
	close(folder);
	errno = kept_errno;
	return is_done;
}

/* SPDX-License-Identifier: MIT */
#include "tools/leftovers.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/decode.h"
#include "wire/leftover_owner.h"
#include "wire/source.h"

/* What a snapshot says of whose it is. */
struct wanted {
	const char *path;
	char whole_path[PATH_MAX];
	struct stat about;
	bool has_process;
	uint32_t pid;
	uint64_t start_time_ns, start_stamp;
	struct gmt_leftover *found;
};

/* Called with each candidate, which it takes over; false ends the search. */
typedef bool see_leftover(void *context, struct gmt_leftover *leftover);

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

/* Of a folder that others may write to, only files of `owner` are looked at. */
static bool look_in(const char *folder, const char *prefix, uid_t owner, see_leftover *see, void *context)
{
	DIR *entries = opendir(folder);
	char path[PATH_MAX + NAME_MAX + 2];
	bool goes_on = true;

	for (struct dirent *entry; goes_on && entries && (entry = readdir(entries));) {
		struct gmt_leftover *leftover;
		struct stat about;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || !ends_with(entry->d_name, ".area"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (!lstat(path, &about) && S_ISREG(about.st_mode) && about.st_uid == owner &&
			!gmt_leftover_open(path, &leftover, NULL))
			goes_on = see(context, leftover);
	}
	if (entries)
		closedir(entries);
	return goes_on;
}

static bool look_in_memory(uid_t owner, see_leftover *see, void *context)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "/dev/shm/gpumemtrace-%u", (unsigned)owner);
	return look_in(folder, "", owner, see, context);
}

const char *gmt_leftovers_why_not(const struct gmt_leftover *leftover)
{
	if (!gmt_leftover_is_of_this_boot(gmt_leftover_owner(leftover)))
		return "its machine was started anew since, or is another one";
	return gmt_leftover_is_alive(leftover) ? "its process goes on" : NULL;
}

/* The first record, when the file has got so far. */
static void read_process(struct wanted *wanted)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_source *source;
	struct gmt_block block;
	const void *rows;

	if (gmt_source_open(wanted->path, &source, NULL))
		return;
	if (!gmt_source_next(source, &block, NULL) && block.kind == GMT_RECORD_PROCESS &&
		!gmt_decode_rows(&decoder, &block, &rows, NULL)) {
		const struct gmt_process *process = rows;

		wanted->has_process = true;
		wanted->pid = process->pid;
		wanted->start_time_ns = process->start_time_ns;
		wanted->start_stamp = process->start_stamp;
	}
	gmt_decoder_fini(&decoder);
	gmt_source_close(source);
}

/*
 * A file that was moved or copied is known by what it says; one that says nothing yet, by which it is and where: the
 * number of a file that is gone is soon another's.
 */
static bool is_wanted(const struct wanted *wanted, const struct gmt_leftover_owner *owner)
{
	if (wanted->has_process)
		return owner->pid == wanted->pid && owner->start_time_ns == wanted->start_time_ns &&
			owner->start_stamp == wanted->start_stamp;
	return owner->file_device == wanted->about.st_dev && owner->file_inode == wanted->about.st_ino &&
		!strcmp(owner->path, wanted->whole_path);
}

static bool take_wanted(void *context, struct gmt_leftover *leftover)
{
	struct wanted *wanted = context;

	if (!is_wanted(wanted, gmt_leftover_owner(leftover)) || gmt_leftovers_why_not(leftover)) {
		gmt_leftover_close(leftover);
		return true;
	}
	wanted->found = leftover;
	return false;
}

struct gmt_leftover *gmt_leftovers_find(const char *path)
{
	struct wanted wanted = { .path = path };

	if (stat(path, &wanted.about) || !S_ISREG(wanted.about.st_mode) || !realpath(path, wanted.whole_path))
		return NULL;
	read_process(&wanted);
	if (!look_in_memory(wanted.about.st_uid, take_wanted, &wanted))
		return wanted.found;

	char *slash = strrchr(wanted.whole_path, '/');
	char kept = slash[1];
	char folder[PATH_MAX];

	slash[1] = 0;
	strcpy(folder, wanted.whole_path);
	slash[1] = kept;
	look_in(folder, ".gpumemtrace-", wanted.about.st_uid, take_wanted, &wanted);
	return wanted.found;
}

struct teller {
	int (*tell)(void *context, struct gmt_leftover *leftover);
	void *context;
	int code;
};

static bool tell_one(void *context, struct gmt_leftover *leftover)
{
	struct teller *teller = context;
	int code = teller->tell(teller->context, leftover);

	teller->code = teller->code ? teller->code : code;
	return true;
}

int gmt_leftovers_all(int (*tell)(void *context, struct gmt_leftover *leftover), void *context)
{
	struct teller teller = { .tell = tell, .context = context };

	look_in_memory(geteuid(), tell_one, &teller);
	look_in(".", ".gpumemtrace-", geteuid(), tell_one, &teller);
	return teller.code;
}

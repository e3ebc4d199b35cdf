/* SPDX-License-Identifier: MIT */
#include "tools/recordings/running_processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "system/file_io.h"
#include "system/file_identity.h"
#include "system/runtime_folder.h"
#include "base/text.h"
#include "render/json.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"

enum {
	/*
	 * until the recorder begins to answer: it checks four times a second, a busy machine less often
	 */
	BEGIN_MS = 10000,
	CLAIM_MS = 60000,       /* until the requests of other readers are answered */
	POLL_MS = 20,
	MAX_ENTRIES = 4096,     /* maximum number of control files that are read in a folder */
};

/* Returns whether the process has ended: the lock of its control file is free. */
static bool has_ended(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type == F_UNLCK;
}

static bool is_page(const struct gmt_control_page *page)
{
	return memcmp(page->magic, GMT_CONTROL_MAGIC, sizeof(page->magic)) == 0 &&
		page->version == GMT_CONTROL_VERSION;
}

/*
 * Reads the page without mapping it. The file may be truncated at any time, and access to a missing
 * page would kill this process.
 */
static bool read_page(int fd, struct gmt_control_page *ret_page)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
		gmt_file_read_at(fd, 0, ret_page, sizeof(*ret_page)) != sizeof(*ret_page) ||
		!is_page(ret_page))
		return false;
	ret_page->mode[sizeof(ret_page->mode) - 1] = 0;
	ret_page->program[sizeof(ret_page->program) - 1] = 0;
	ret_page->path[sizeof(ret_page->path) - 1] = 0;
	return true;
}

/* Returns whether the search continues. */
static bool visit_file(int folder, const char *name,
	bool (*visit)(void *context, const struct gmt_running_process *running), void *context)
{
	static struct gmt_running_process running; /* large, so static */
	struct gmt_file_identity file;
	bool continues = true;

	running.fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (running.fd < 0)
		return true;
	/* A control file that is being created has neither a lock nor the magic yet. */
	if (read_page(running.fd, &running.control)) {
		running.pid = running.control.pid;
		if (!has_ended(running.fd))
			continues = visit(context, &running);
		else if (gmt_file_identity_of(running.fd, &file) &&
			gmt_file_identity_is_at(folder, name, &file))
			unlinkat(folder, name, 0);
	}
	close(running.fd);
	return continues;
}

static bool visit_folder(const char *path,
	bool (*visit)(void *context, const struct gmt_running_process *running), void *context)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	bool continues = true;
	int seen = 0;

	for (struct dirent *entry;
		continues && entries && seen < MAX_ENTRIES && (entry = readdir(entries)) != NULL;) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (!suffix || strcmp(suffix, ".control") != 0)
			continue;
		seen++;
		continues = visit_file(dirfd(entries), entry->d_name, visit, context);
	}
	if (entries)
		closedir(entries);
	else if (fd >= 0)
		close(fd);
	return continues;
}

void gmt_running_processes_each(bool (*visit)(void *context,
									const struct gmt_running_process *running),
	void *context)
{
	char folder[3800];

	for (int place = 0; place < GMT_RUNTIME_FOLDERS; place++)
		if (gmt_runtime_folder((enum gmt_runtime_folder_kind)place, getenv("XDG_RUNTIME_DIR"),
				false, folder, sizeof(folder)) &&
			!visit_folder(folder, visit, context))
			return;
}

void gmt_running_processes_text(const char *text, size_t text_bytes, char *ret_copy, size_t bytes)
{
	size_t length = strnlen(text, text_bytes);

	snprintf(ret_copy, bytes, "%.*s", (int)length, text);
}

/* A request to one process. */
struct request {
	uint32_t pid;
	enum gmt_control_verb verb;
	const char *argument;
	char *answer;
	size_t answer_bytes;
	bool is_found;
	int code;
};

static void sleep_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
}

/*
 * Takes the turn in one atomic exchange, so two readers never have the turn at the same time, even
 * if one of them stops in the middle. Also takes the turn of a reader that has ended.
 */
static bool become_requester(struct gmt_control_page *page, uint32_t self)
{
	uint32_t requester = atomic_load(&page->requester);

	return (!requester || (requester != self && kill((pid_t)requester, 0) && errno == ESRCH)) &&
		atomic_compare_exchange_strong(&page->requester, &requester, self);
}

/*
 * Withdraws the request of a reader that has ended. Returns false while the recorder is working on
 * it.
 */
static bool clear_turn(struct gmt_control_page *page)
{
	uint32_t turn = atomic_load(&page->turn);

	return turn != GMT_CONTROL_AT_WORK &&
		atomic_compare_exchange_strong(&page->turn, &turn, GMT_CONTROL_CLAIMED);
}

static void release(struct gmt_control_page *page)
{
	atomic_store(&page->turn, GMT_CONTROL_IDLE);
	atomic_store(&page->requester, 0);
}

/* Waits for the turn to send a request. Only one reader has the turn at a time. */
static bool claim(struct gmt_control_page *page)
{
	uint32_t self = (uint32_t)getpid();
	bool is_requester = false;

	for (unsigned waited_ms = 0; waited_ms < CLAIM_MS; waited_ms += POLL_MS) {
		is_requester = is_requester || become_requester(page, self);
		if (is_requester && clear_turn(page))
			return true;
		sleep_briefly();
	}
	if (is_requester)
		atomic_store(&page->requester, 0);
	return false;
}

/*
 * Waits for the answer. If the recorder has begun to answer, waits until it is done or its process
 * ends. Returns false if there is no answer.
 */
static bool wait_for_answer(const struct gmt_running_process *running,
	struct gmt_control_page *page)
{
	unsigned waited_ms = 0;

	for (;; waited_ms += POLL_MS) {
		uint32_t asked = GMT_CONTROL_REQUESTED;
		uint32_t turn = atomic_load(&page->turn);

		if (turn == GMT_CONTROL_ANSWERED)
			return true;
		if (turn == GMT_CONTROL_REQUESTED && waited_ms >= BEGIN_MS &&
			atomic_compare_exchange_strong(&page->turn, &asked, GMT_CONTROL_IDLE))
			return false;
		if (waited_ms % 500 == 0 && has_ended(running->fd))
			return false;
		sleep_briefly();
	}
}

static void on_truncated_page(int number)
{
	static const char line[] =
		"gpumemtrace: error: the control file of the process was truncated\n";
	ssize_t written = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)number;
	(void)written;
	_exit(GMT_EXIT_UNREADABLE);
}

/*
 * Maps the page, because the turn is an atomic variable in it. If another process truncates the
 * file, the handler of SIGBUS prints an error.
 */
static struct gmt_control_page *map(int fd)
{
	struct gmt_control_page *page =
		mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return NULL;
	signal(SIGBUS, on_truncated_page);
	return page;
}

static void request_from_page(struct request *request, const struct gmt_running_process *running,
	struct gmt_control_page *page)
{
	if (!claim(page)) {
		gmt_message_error("process %u is answering another command: try again", request->pid);
		return;
	}
	page->verb = request->verb;
	snprintf(page->argument, sizeof(page->argument), "%s",
		request->argument ? request->argument : "");
	atomic_store(&page->turn, GMT_CONTROL_REQUESTED);
	if (!wait_for_answer(running, page)) {
		release(page);
		gmt_message_error(
			"the recorder of process %u does not answer: the process ended or is stopped",
			request->pid);
		return;
	}
	gmt_running_processes_text(page->answer, sizeof(page->answer), request->answer,
		request->answer_bytes);
	request->code = page->has_failed ? GMT_EXIT_UNREADABLE : 0;
	release(page);
	if (request->code)
		gmt_message_error("process %u: %s", request->pid, request->answer);
}

static bool send_request(void *context, const struct gmt_running_process *running)
{
	struct request *request = context;
	struct gmt_control_page *page;

	if (running->pid != request->pid)
		return true;
	request->is_found = true;
	request->code = GMT_EXIT_UNREADABLE;
	page = map(running->fd);
	if (!page) {
		gmt_message_error("process %u: cannot open its control file: %s", request->pid,
			strerror(errno));
		return false;
	}
	request_from_page(request, running, page);
	signal(SIGBUS, SIG_DFL);
	munmap(page, sizeof(*page));
	return false;
}

int gmt_running_processes_request(uint32_t pid, enum gmt_control_verb verb, const char *argument,
	char *ret_answer, size_t answer_bytes)
{
	struct request request = {
		.pid = pid,
		.verb = verb,
		.argument = argument,
		.answer = ret_answer,
		.answer_bytes = answer_bytes,
	};

	gmt_running_processes_each(send_request, &request);
	if (request.is_found)
		return request.code;
	gmt_message_error("process %u is not being recorded, or belongs to another user", pid);
	gmt_message_hint("next: gpumemtrace ps");
	return GMT_EXIT_UNREADABLE;
}

void gmt_running_processes_print_json(uint32_t pid, const char *key, const char *text)
{
	struct gmt_json json = { .file = stdout, .pretty = true, .inline_depth = 2 };

	gmt_json_begin_object(&json);
	gmt_json_key_u64(&json, "pid", pid);
	gmt_json_key_text(&json, key, text);
	gmt_json_end_object(&json);
	putchar('\n');
}

bool gmt_running_processes_parse_pid(const char *verb, int argc, char **argv, uint32_t *ret_pid)
{
	uint64_t pid;

	if (argc != 1) {
		gmt_message_error(
			"%s: no process id is given; `gpumemtrace ps` lists the processes that are being "
			"recorded",
			verb);
		return false;
	}
	if (!gmt_text_parse_u64(argv[0], &pid) || !pid || pid > INT32_MAX) {
		gmt_message_error("%s: \"%s\" is not a process id", verb, argv[0]);
		return false;
	}
	*ret_pid = (uint32_t)pid;
	return true;
}

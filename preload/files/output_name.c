/* SPDX-License-Identifier: MIT */
#include "files/output_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "system/file_identity.h"
#include "system/launcher_rank.h"
#include "system/recording_name.h"
#include "base/text.h"
#include "runtime/descriptor.h"

enum { MAX_TRIES = 10000 };

static const char *const variable_names[GMT_LAUNCHER_VARIABLES] = {
#define GMT_LAUNCHER_VARIABLE(name) name,
#include "format/launcher_variables.def"
#undef GMT_LAUNCHER_VARIABLE
};

/* Copies the launcher's variables, except those that find no room. */
static void copy_variables(struct gmt_output_identity *identity)
{
	enum { VALUE_BYTES = 256 };

	for (unsigned i = 0; i < GMT_LAUNCHER_VARIABLES; i++) {
		const char *value = getenv(variable_names[i]);

		if (!value || !*value ||
			identity->variable_bytes + VALUE_BYTES > sizeof(identity->variables))
			continue;
		gmt_text_copy(identity->variables + identity->variable_bytes, VALUE_BYTES, value);
		identity->variable_offset_plus_1[i] = (uint16_t)(identity->variable_bytes + 1);
		identity->variable_bytes += strlen(identity->variables + identity->variable_bytes) + 1;
	}
}

const char *gmt_output_identity_variable(const struct gmt_output_identity *identity,
	unsigned variable, const char **ret_name)
{
	*ret_name = variable_names[variable];
	return identity->variable_offset_plus_1[variable]
		? identity->variables + identity->variable_offset_plus_1[variable] - 1
		: NULL;
}

void gmt_output_identity_init(struct gmt_output_identity *ret_identity)
{
	/* Static, because stacks may be small. There is only one caller. */
	static char executable[4096];
	ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);

	memset(ret_identity, 0, sizeof(*ret_identity));
	ret_identity->time_s = time(NULL);
	ret_identity->rank = gmt_launcher_rank();
	ret_identity->local_rank = gmt_launcher_local_rank();
	if (gethostname(ret_identity->host, sizeof(ret_identity->host) - 1))
		strcpy(ret_identity->host, "localhost");
	copy_variables(ret_identity);
	executable[length > 0 ? length : 0] = 0;

	const char *slash = strrchr(executable, '/');
	snprintf(ret_identity->program, sizeof(ret_identity->program), "%s",
		slash ? slash + 1 : "program");
}

struct name {
	char *text;
	size_t length;
	size_t bytes;
	bool too_long;
};

static void append(struct name *name, const char *text, size_t length)
{
	if (name->length + length >= name->bytes) {
		name->too_long = true;
		return;
	}
	memcpy(name->text + name->length, text, length);
	name->length += length;
	name->text[name->length] = 0;
}

static void append_text(struct name *name, const char *text)
{
	append(name, text, strlen(text));
}

/* Appends a value that must not change the folder: each "/" in it becomes "_". */
static void append_part(struct name *name, const char *text)
{
	for (; *text; text++)
		append(name, *text == '/' ? "_" : text, 1);
}

static void append_number(struct name *name, int64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%lld", (long long)number);
	append_text(name, digits);
}

static void append_time(struct name *name, int64_t time_s)
{
	char text[32];
	time_t now = (time_t)time_s;
	struct tm local;

	/* UTC: localtime takes a lock and reads files. */
	gmtime_r(&now, &local);
	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
	append_text(name, text);
}

static void append_rank(struct name *name, int32_t rank)
{
	append_text(name, ".r");
	append_number(name, rank);
}

/*
 * Appends two hex digits that spread the files of a job over 256 folders: the lowest byte of the
 * rank, or of a hash of host and process if there is no rank.
 */
static void append_spread(struct name *name, const struct gmt_output_identity *identity)
{
	uint32_t hash = (uint32_t)getpid();
	char digits[3];

	for (const char *at = identity->host; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 16777619u;
	hash ^= hash >> 16;
	snprintf(digits, sizeof(digits), "%02x",
		(unsigned)(identity->rank >= 0 ? (uint32_t)identity->rank : hash ^ hash >> 8) & 0xff);
	append_text(name, digits);
}

/*
 * Appends the value of an environment variable for %q{VAR}. `at` points behind the q. Returns the
 * address behind the closing brace, or NULL on error.
 */
static const char *append_variable(struct name *name, const char *at)
{
	char variable[128];
	const char *end = *at == '{' ? strchr(at, '}') : NULL;

	if (!end || (size_t)(end - at) > sizeof(variable))
		return NULL;
	snprintf(variable, sizeof(variable), "%.*s", (int)(end - at - 1), at + 1);

	const char *value = getenv(variable);
	append_part(name, value ? value : "");
	return end + 1;
}

/*
 * Returns the first token of the template with one of these letters, at its percent sign. Returns
 * NULL if the template has no such token. A letter behind `%%` is no token.
 */
static const char *find_token(const char *template, const char *letters)
{
	for (const char *at = strchr(template, '%'); at && at[1]; at = strchr(at + 2, '%'))
		if (strchr(letters, at[1]))
			return at;
	return NULL;
}

/* Returns where ".r<rank>" is inserted in the template, or NULL if it is not inserted. */
static const char *find_rank_position(const char *template,
	const struct gmt_output_identity *identity)
{
	if (identity->rank < 0 || find_token(template, "rl"))
		return NULL;

	const char *host = find_token(template, "h");
	return host ? host + 2 : gmt_recording_name_suffix(template);
}

/*
 * Appends the value of a token. `at` points behind the percent sign. Returns the address behind the
 * token, or NULL if the token is unknown.
 */
static const char *append_token(struct name *name, const char *at,
	const struct gmt_output_identity *identity, uint32_t number)
{
	switch (*at++) {
	case 'p':
		append_number(name, getpid());
		return at;
	case 'h':
		append_part(name, identity->host);
		return at;
	case 'e':
		append_part(name, identity->program);
		return at;
	case 't':
		append_time(name, identity->time_s);
		return at;
	case 'r':
		append_number(name, identity->rank < 0 ? 0 : identity->rank);
		return at;
	case 'l':
		append_number(name, identity->local_rank < 0 ? 0 : identity->local_rank);
		return at;
	case 'n':
		append_number(name, number);
		return at;
	case 'H':
		append_spread(name, identity);
		return at;
	case '%':
		append_text(name, "%");
		return at;
	case 'q':
		return append_variable(name, at);
	default:
		return NULL;
	}
}

bool gmt_output_expand(const char *template, const struct gmt_output_identity *identity,
	uint32_t number, char *ret_path, size_t path_bytes, char *ret_why, size_t why_bytes)
{
	struct name name = { .text = ret_path, .bytes = path_bytes };
	const char *rank_at = find_rank_position(template, identity);

	ret_path[0] = 0;
	if (template[0] != '/' && identity->folder[0]) {
		append_text(&name, identity->folder);
		append_text(&name, "/");
	}
	for (const char *at = template; *at || at == rank_at;) {
		if (at == rank_at) {
			append_rank(&name, identity->rank);
			rank_at = NULL;
			continue;
		}
		if (*at != '%') {
			append(&name, at++, 1);
			continue;
		}
		at = append_token(&name, at + 1, identity, number);
		if (!at) {
			snprintf(ret_why, why_bytes,
				"output=%s has an unknown token; known: "
				"%%p %%h %%e %%t %%r %%l %%n %%H %%q{VAR} %%%%",
				template);
			return false;
		}
	}
	if (name.too_long)
		snprintf(ret_why, why_bytes, "output=%.64s... results in a name that is too long",
			template);
	return !name.too_long;
}

/* Makes the folders of a path, like mkdir -p. A failure shows when the file is created. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0777);
		*slash = '/';
	}
}

int gmt_output_create(const char *template, const struct gmt_output_identity *identity,
	char *ret_path, size_t path_bytes, char *ret_why, size_t why_bytes)
{
	bool has_number_token = strstr(template, "%n") != NULL;

	for (uint32_t number = 0; number < MAX_TRIES; number++) {
		if (!gmt_output_expand(template, identity, number, ret_path, path_bytes - 16, ret_why,
				why_bytes))
			return -1;
		if (number && !has_number_token)
			/* Uses the 16 bytes that gmt_output_expand left free. */
			gmt_recording_name_number(ret_path, path_bytes, number);
		make_folders(ret_path);

		/*
		 * Only the user may read the file, because it contains stacks and arguments. O_NOFOLLOW:
		 * another user may have made a link. O_RDWR: the compaction also reads the file
		 * (writer/file_compaction_rewrite.h).
		 */
		int fd = open(ret_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0)
			return gmt_descriptor_move_high(fd);
		if (errno != EEXIST)
			break;
		/* Only a device is an error: any user can make a pipe or a socket with this name. */
		if (gmt_file_is_device(ret_path)) {
			snprintf(ret_why, why_bytes, "%.512s is a device; output= names a file", ret_path);
			return -1;
		}
	}
	snprintf(ret_why, why_bytes, "%.512s: %s", ret_path, strerror(errno));
	return -1;
}

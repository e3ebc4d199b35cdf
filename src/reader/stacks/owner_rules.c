/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "base/safe_text.h"
#include "reader/stacks/owner_rules.h"

static const char *const actions[] = { "skip", "own", "lend", "arena" };
static const char *const kinds[GMT_OWNER_KINDS] = { "library", "function", "file", "package" };

static const char defaults[] =
#include "reader/owners_text.inc"
	;

struct word {
	const char *text;
	size_t length;
};

/* The current line, with its position for error messages. */
struct line {
	const char *at, *end;
	const char *path;
	unsigned number;
	struct gmt_error *error;
};

/* Makes a word safe for a terminal: the file may contain anything, even a recording. */
static void quote(const struct word *word, char *ret_text, size_t size)
{
	const unsigned char *at = (const unsigned char *)word->text, *end = at + word->length;
	size_t length = 0;

	while (at < end && length + 8 < size) {
		size_t skip, bytes = gmt_safe_character_length(at, (size_t)(end - at), &skip);

		if (!bytes) {
			ret_text[length++] = '?';
			at += skip;
			continue;
		}
		memcpy(ret_text + length, at, bytes);
		length += bytes;
		at += bytes;
	}
	ret_text[length] = '\0';
}

static enum gmt_status line_error(const struct line *line, const char *what,
	const struct word *word)
{
	char text[100] = "";

	if (word)
		quote(word, text, sizeof(text));
	return gmt_error_set(line->error, GMT_USAGE,
		"%s:%u: %s%s%s%s: write ACTION OWNER KIND PATTERN, as in `own cuBLAS library libcublas*`",
		line->path, line->number, what, word ? " `" : "", text, word ? "`" : "");
}

static void skip_blanks(struct line *line)
{
	while (line->at < line->end && isspace((unsigned char)*line->at))
		line->at++;
}

/*
 * Returns false at the end of the line (ret_word->text is NULL), and if quotes do not close (it is
 * not NULL).
 */
static bool next_word(struct line *line, struct word *ret_word)
{
	bool quoted;

	skip_blanks(line);
	*ret_word = (struct word){ 0 };
	if (line->at == line->end)
		return false;
	quoted = *line->at == '"';
	line->at += quoted;
	ret_word->text = line->at;
	while (line->at < line->end && (quoted ? *line->at != '"' : !isspace((unsigned char)*line->at)))
		line->at++;
	ret_word->length = (size_t)(line->at - ret_word->text);
	if (!quoted)
		return true;
	if (line->at == line->end)
		return false;
	line->at++;
	return true;
}

/* Returns the index of a word in `names`, or `count` if it is not among them. */
static size_t index_of(const struct word *word, const char *const *names, size_t count)
{
	size_t i = 0;

	while (i < count &&
		(strlen(names[i]) != word->length || memcmp(names[i], word->text, word->length) != 0))
		i++;
	return i;
}

static bool is_dash(const struct word *word)
{
	return word->length == 1 && *word->text == '-';
}

static enum gmt_status copy(struct gmt_owner_rules *rules, const struct word *word,
	const char **ret_text, struct gmt_error *error)
{
	*ret_text = gmt_arena_copy(&rules->arena, word->text, word->length);
	return *ret_text ? GMT_OK : gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

static enum gmt_status parse_patterns(struct gmt_owner_rules *rules, struct line *line,
	struct gmt_owner_rule *rule)
{
	struct word word;
	enum gmt_status status;
	unsigned count = 0;

	for (; next_word(line, &word); count++) {
		size_t kind = index_of(&word, kinds, GMT_OWNER_KINDS);

		if (kind == GMT_OWNER_KINDS)
			return line_error(line, "a kind is library, function, file or package, not", &word);
		if (rule->patterns[kind])
			return line_error(line, "two patterns of the same kind", &word);
		if (!next_word(line, &word) || !word.length)
			return line_error(line,
				word.text && word.length ? "the quotes do not close" : "a pattern is missing",
				NULL);
		if ((status = copy(rules, &word, &rule->patterns[kind], line->error)))
			return status;
	}
	if (word.text)
		return line_error(line, "the quotes do not close", NULL);
	if (!count)
		return line_error(line, "a pattern is missing", NULL);
	/* A frame is either a Python frame or a native frame. */
	if (rule->patterns[GMT_OWNER_LIBRARY] && rule->patterns[GMT_OWNER_FILE])
		return line_error(line, "library and file exclude each other: a frame is native or Python",
			NULL);
	return GMT_OK;
}

static enum gmt_status parse_line(struct gmt_owner_rules *rules, struct line *line)
{
	struct gmt_owner_rule rule = { 0 };
	struct word action, name;
	enum gmt_status status;
	size_t index;

	skip_blanks(line);
	if (line->at == line->end || *line->at == '#')
		return GMT_OK;
	if (!next_word(line, &action))
		return line_error(line, "the quotes do not close", NULL);
	index = index_of(&action, actions, sizeof(actions) / sizeof(*actions));
	if (index == sizeof(actions) / sizeof(*actions))
		return line_error(line, "an action is skip, own, lend or arena, not", &action);
	rule.action = (enum gmt_owner_action)index;
	if (!next_word(line, &name) || !name.length)
		return line_error(line,
			name.text && name.length ? "the quotes do not close" : "an owner is missing", NULL);
	if (is_dash(&name) && rule.action != GMT_OWNER_SKIP && rule.action != GMT_OWNER_ARENA)
		return line_error(line, "the owner `-` is valid only for skip and arena", NULL);
	if (is_dash(&name))
		name.length = 0;
	if ((status = copy(rules, &name, &rule.name, line->error)) ||
		(status = parse_patterns(rules, line, &rule)))
		return status;

	struct gmt_owner_rule *row = gmt_vec_push(&rules->rows);
	if (!row)
		return gmt_error_set(line->error, GMT_NO_MEMORY, "out of memory");
	*row = rule;
	return GMT_OK;
}

enum gmt_status gmt_owner_rules_parse(struct gmt_owner_rules *rules, const char *text,
	const char *path, struct gmt_error *error)
{
	enum gmt_status status = GMT_OK;
	unsigned number = 1;

	for (const char *at = text; !status && *at; number++) {
		struct line line = {
			.at = at, .end = at + strcspn(at, "\n"), .path = path, .number = number, .error = error
		};

		at = line.end + (*line.end == '\n');
		status = parse_line(rules, &line);
	}
	return status;
}

enum gmt_status gmt_owner_rules_add_defaults(struct gmt_owner_rules *rules, struct gmt_error *error)
{
	return gmt_owner_rules_parse(rules, defaults, "owners.rules", error);
}

/*
 * Returns the first position where text after a `*` may match `pattern`, or NULL if there is no
 * such position.
 */
static const char *find_first(const char *pattern, const char *text, const char *end)
{
	if (!*pattern || *pattern == '*' || *pattern == '?')
		return text;
	return memchr(text, *pattern, (size_t)(end - text));
}

/*
 * Returns whether all `length` bytes of `text` match. `*` matches anything, `?` matches one byte.
 */
static bool fits(const char *pattern, const char *text, size_t length)
{
	const char *star = NULL, *end = text + length, *after_star = NULL;

	while (text < end) {
		if (*pattern != '*' && (*pattern == '?' || (*pattern && *pattern == *text))) {
			pattern++;
			text++;
			continue;
		}
		if (*pattern == '*') {
			star = ++pattern;
			if (!*star)
				return true;
			after_star = text;
		} else if (star) {
			pattern = star;
			after_star++;
		} else {
			return false;
		}
		after_star = find_first(pattern, after_star, end);
		if (!after_star)
			return false;
		text = after_star;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/*
 * Limits for names, which a hostile recording may make arbitrarily long. No file system has longer
 * paths, and no pattern needs the hundredth parameter. The matcher compares each part of a name, so
 * the cost would be quadratic.
 */
enum { MAX_PATH_BYTES = 4096, MAX_PARTS = 100 };

static const char *end_of_path(const char *path)
{
	size_t length = strlen(path);

	return length > MAX_PATH_BYTES ? path + length - MAX_PATH_BYTES : path;
}

/*
 * Matches the file's name. If the pattern contains a `/`, matches the path instead, from its
 * beginning or from after any of its `/`.
 */
static bool fits_path(const char *pattern, const char *path)
{
	const char *slash;

	if (!*path)
		return false;
	path = end_of_path(path);
	slash = strrchr(path, '/');
	if (!strchr(pattern, '/'))
		return fits(pattern, slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
	for (const char *at = path;; at = slash + 1) {
		if (fits(pattern, at, strlen(at)))
			return true;
		slash = strchr(at, '/');
		if (!slash)
			return false;
	}
}

/* Matches the whole name, or the name up to its template arguments or its parameters. */
static bool fits_function(const char *pattern, const char *function, size_t length)
{
	size_t parts = 0;

	/* Most patterns are about other functions, and differ in the first byte. */
	if (*pattern != *function && *pattern != '*' && *pattern != '?')
		return false;
	if (fits(pattern, function, length))
		return true;
	/*
	 * A pattern that ends with `*` and matches the beginning of a name also matches the whole name.
	 */
	if (pattern[strlen(pattern) - 1] == '*')
		return false;
	for (const char *at = function; parts < MAX_PARTS && (at = strpbrk(at, "(<")); at++, parts++)
		if (at > function && fits(pattern, function, (size_t)(at - function)))
			return true;
	return false;
}

const char *gmt_owner_package_of(const char *path)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	const char *package = NULL;

	/* Environments may lie inside environments. The innermost one counts. */
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		for (const char *at = path; (at = strstr(at, folders[i]));) {
			at += strlen(folders[i]);
			package = at > package ? at : package;
		}
	return package;
}

/*
 * Matches the first folders of `package`, or the file itself. `package` is the part of a path below
 * site-packages.
 */
static bool fits_package(const char *pattern, const char *package)
{
	size_t parts = 0;

	for (const char *at = package; at && *at && parts < MAX_PARTS; at++, parts++) {
		at = strpbrk(at, "/.");
		if (fits(pattern, package, at ? (size_t)(at - package) : strlen(package)))
			return true;
		if (!at)
			return false;
	}
	return false;
}

/*
 * Returns whether a rule may match a frame of this file or module. If so, only the name of the
 * function is left to check.
 */
static bool fits_place(const struct gmt_owner_rule *rule, const struct gmt_owner_frame *frame,
	const char *package)
{
	const char *const *patterns = rule->patterns;

	if (patterns[GMT_OWNER_LIBRARY] &&
		(frame->is_python || !fits_path(patterns[GMT_OWNER_LIBRARY], frame->module)))
		return false;
	if (patterns[GMT_OWNER_FILE] &&
		(!frame->is_python || !fits_path(patterns[GMT_OWNER_FILE], frame->file)))
		return false;
	if (patterns[GMT_OWNER_FUNCTION] && frame->is_python && !patterns[GMT_OWNER_FILE])
		return false;
	return !patterns[GMT_OWNER_PACKAGE] ||
		(package && fits_package(patterns[GMT_OWNER_PACKAGE], package));
}

/*
 * Lists the rules that may match a frame of this file or module, up to a rule that certainly
 * matches. Returns false when out of memory.
 */
static bool list_candidates(const struct gmt_owner_rules *rules,
	struct gmt_owner_rule_cache *rule_cache, const struct gmt_owner_frame *frame,
	struct gmt_owner_span *ret_span)
{
	const char *package = gmt_owner_package_of(frame->is_python ? frame->file : frame->module);

	*ret_span = (struct gmt_owner_span){ .first = (uint32_t)rule_cache->rows.count };
	for (uint32_t i = 0; i < rules->rows.count; i++) {
		uint32_t *row;

		if (!fits_place(&rules->rows.items[i], frame, package))
			continue;
		row = gmt_vec_push(&rule_cache->rows);
		if (!row)
			return false;
		*row = i;
		ret_span->count++;
		if (!rules->rows.items[i].patterns[GMT_OWNER_FUNCTION])
			break;
	}
	return true;
}

bool gmt_owner_rules_find(const struct gmt_owner_rules *rules,
	struct gmt_owner_rule_cache *rule_cache, const struct gmt_owner_frame *frame,
	const struct gmt_owner_rule **ret_rule)
{
	int kind = frame->is_python;
	gmt_owner_spans *spans = &rule_cache->spans[kind];
	size_t length = strlen(frame->function);
	struct gmt_owner_span *span;
	uint32_t id;

	*ret_rule = NULL;
	/* Reserve room before the path gets its id: a path with an id must have its span. */
	if (!gmt_vec_reserve(spans, 1) ||
		!gmt_intern_text(&rule_cache->paths[kind], frame->is_python ? frame->file : frame->module,
			&id))
		return false;
	span = &spans->items[id];
	if (id == spans->count) {
		spans->count++;
		if (!list_candidates(rules, rule_cache, frame, span))
			return false;
	}
	for (uint32_t i = 0; i < span->count && !*ret_rule; i++) {
		const struct gmt_owner_rule *rule =
			&rules->rows.items[rule_cache->rows.items[span->first + i]];
		const char *pattern = rule->patterns[GMT_OWNER_FUNCTION];

		if (!pattern || fits_function(pattern, frame->function, length))
			*ret_rule = rule;
	}
	return true;
}

void gmt_owner_rule_cache_fini(struct gmt_owner_rule_cache *rule_cache)
{
	for (int i = 0; i < 2; i++) {
		gmt_intern_fini(&rule_cache->paths[i]);
		gmt_vec_fini(&rule_cache->spans[i]);
	}
	gmt_vec_fini(&rule_cache->rows);
}

void gmt_owner_rules_fini(struct gmt_owner_rules *rules)
{
	gmt_vec_fini(&rules->rows);
	gmt_arena_fini(&rules->arena);
}

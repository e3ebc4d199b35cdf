/* SPDX-License-Identifier: MIT */
#include "code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * Reads the declarations in images of code. The reader splits PTX into statements. At the outermost
 * level, a statement with .entry declares a kernel. A statement with .global or .const declares
 * variables:
 *
 *     .visible .global .align 4 .b8 table[16][4] = {...};
 *     .visible .global .attribute(.managed) .align 8 .u64 counter;
 */

/* A token: a word with its leading dot, a number, or one punctuation character. */
struct token {
	const char *text;
	size_t length;
};

/* The state of the statement that is being read. */
struct statement {
	bool is_kernel, is_variable, is_managed, is_external, has_value;
	bool has_name;
	struct token name;
	size_t element_bytes, count;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Returns the start of the next token, after blanks and comments. */
static const char *skip_blanks(const char *text)
{
	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (text[0] == '/' && text[1] == '/') {
			text += strcspn(text, "\n");
		} else if (text[0] == '/' && text[1] == '*') {
			const char *end = strstr(text, "*/");
			text = end ? end + 2 : text + strlen(text);
		} else {
			return text;
		}
	}
}

/* Reads the next token. Length 0 means the end of the text. */
static struct token next_token(const char **text)
{
	struct token token = { skip_blanks(*text), 0 };
	const char *end = token.text;

	if (*end == '"') {
		const char *close = strchr(end + 1, '"');
		end = close ? close + 1 : end + strlen(end);
	} else if (*end) {
		end++;
		while ((is_word(token.text[0]) || token.text[0] == '.') && is_word(*end))
			end++;
	}
	token.length = (size_t)(end - token.text);
	*text = end;
	return token;
}

static bool token_is(struct token token, const char *text)
{
	return token.length == strlen(text) && memcmp(token.text, text, token.length) == 0;
}

/* Returns the bytes of a type name: 4 for ".u32". Returns 0 if the token is not a type name. */
static size_t type_bytes(struct token token)
{
	if (token.length < 3 || token.text[0] != '.' || !strchr("busf", token.text[1]) ||
		!isdigit((unsigned char)token.text[2]))
		return 0;
	return (size_t)strtoul(token.text + 2, NULL, 10) / 8;
}

static bool add_symbol(struct sim_code *code, struct token name, enum sim_symbol_kind kind,
	size_t size_bytes)
{
	if (code->count == code->capacity) {
		size_t capacity = code->capacity ? 2 * code->capacity : 8;
		struct sim_symbol *symbols = realloc(code->symbols, capacity * sizeof(*symbols));
		if (!symbols)
			return false;
		code->symbols = symbols;
		code->capacity = capacity;
	}
	char *copy = strndup(name.text, name.length);
	if (!copy)
		return false;
	code->symbols[code->count++] = (struct sim_symbol){ copy, kind, size_bytes };
	return true;
}

/* Adds the symbols that the statement has declared so far. Returns false if memory is short. */
static bool finish_declaration(struct sim_code *code, struct statement *statement)
{
	bool is_valid = true;

	if (statement->has_name && statement->is_kernel)
		is_valid = add_symbol(code, statement->name, SIM_SYMBOL_FUNCTION, 0);
	else if (statement->has_name && statement->is_variable && !statement->is_external)
		is_valid = add_symbol(code, statement->name,
			statement->is_managed ? SIM_SYMBOL_MANAGED : SIM_SYMBOL_VARIABLE,
			statement->element_bytes * statement->count);
	statement->has_name = statement->has_value = false;
	statement->count = 1;
	return is_valid;
}

static void read_directive(struct statement *statement, struct token token, const char **text)
{
	size_t bytes = type_bytes(token);

	if (token_is(token, ".entry"))
		statement->is_kernel = true;
	else if (token_is(token, ".global") || token_is(token, ".const"))
		statement->is_variable = true;
	else if (token_is(token, ".managed"))
		statement->is_managed = true;
	else if (token_is(token, ".extern"))
		statement->is_external = true;
	else if (token_is(token, ".v2"))
		statement->element_bytes *= 2;
	else if (token_is(token, ".v4"))
		statement->element_bytes *= 4;
	else if (token_is(token, ".align"))
		next_token(text);
	else if (bytes > 0)
		statement->element_bytes *= bytes;
}

/* Reads one token of the outermost level. Returns false if memory is short. */
static bool read_token(struct sim_code *code, struct statement *statement, struct token token,
	const char **text)
{
	if (token_is(token, ";")) {
		bool is_valid = finish_declaration(code, statement);
		*statement = (struct statement){ .element_bytes = 1, .count = 1 };
		return is_valid;
	}
	if (token_is(token, ",") && statement->is_variable)
		return finish_declaration(code, statement);
	if (token_is(token, "="))
		statement->has_value = true;
	else if (token.text[0] == '.')
		read_directive(statement, token, text);
	else if (statement->has_value)
		return true;
	else if (isdigit((unsigned char)token.text[0]) && statement->has_name && statement->is_variable)
		statement->count *= strtoul(token.text, NULL, 0);
	else if (is_word(token.text[0]) && !statement->has_name &&
		(statement->is_variable || statement->is_kernel)) {
		statement->has_name = true;
		statement->name = token;
	}
	return true;
}

static bool read_text(struct sim_code *code, const char *text)
{
	struct statement statement = { .element_bytes = 1, .count = 1 };
	unsigned int depth = 0, parentheses = 0;
	bool is_valid = true;

	for (struct token token = next_token(&text); token.length > 0 && is_valid;
		token = next_token(&text)) {
		if (token_is(token, "{")) {
			depth++;
		} else if (token_is(token, "}")) {
			depth -= depth > 0;
			/* A body ends its statement. A list of values is followed by a semicolon. */
			if (depth == 0 && !statement.has_value) {
				is_valid = finish_declaration(code, &statement);
				statement = (struct statement){ .element_bytes = 1, .count = 1 };
			}
		} else if (depth > 0) {
			continue;
		} else if (token_is(token, "(")) {
			parentheses++;
		} else if (token_is(token, ")")) {
			parentheses -= parentheses > 0;
		} else if (parentheses == 0 || token_is(token, ".managed")) {
			is_valid = read_token(code, &statement, token, &text);
		}
	}
	return is_valid;
}

struct sim_code *sim_code_read(const void *image)
{
	struct sim_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->references = 1;
	const char *text = skip_blanks(image);
	code->is_text = strncmp(text, ".version", strlen(".version")) == 0;
	if (code->is_text) {
		/* These three statements end with their line, not with a semicolon. */
		while (strncmp(text, ".version", 8) == 0 || strncmp(text, ".target", 7) == 0 ||
			strncmp(text, ".address_size", 13) == 0)
			text = skip_blanks(text + strcspn(text, "\n"));
		if (!read_text(code, text)) {
			sim_code_release(code);
			return NULL;
		}
	}
	return code;
}

void sim_code_release(struct sim_code *code)
{
	if (--code->references > 0)
		return;
	for (size_t i = 0; i < code->count; i++)
		free(code->symbols[i].name);
	free(code->symbols);
	free(code);
}

size_t sim_code_find(const struct sim_code *code, const char *name)
{
	size_t index = 0;

	while (index < code->count && strcmp(code->symbols[index].name, name) != 0)
		index++;
	return index;
}

bool sim_code_has_function(const struct sim_code *code, const char *name)
{
	size_t index = sim_code_find(code, name);

	return !code->is_text ||
		(index < code->count && code->symbols[index].kind == SIM_SYMBOL_FUNCTION);
}

size_t sim_code_next_function(const struct sim_code *code, size_t index)
{
	while (index < code->count && code->symbols[index].kind != SIM_SYMBOL_FUNCTION)
		index++;
	return index;
}

unsigned int sim_code_function_count(const struct sim_code *code)
{
	unsigned int count = 0;

	for (size_t i = 0; (i = sim_code_next_function(code, i)) < code->count; i++)
		count++;
	return count;
}

void *sim_named_get(struct sim_named **list, const char *name, size_t size_bytes)
{
	for (struct sim_named *named = *list; named; named = named->next)
		if (strcmp(named->name, name) == 0)
			return named;

	struct sim_named *named = calloc(1, size_bytes);
	char *copy = strdup(name);

	if (!named || !copy) {
		free(named);
		free(copy);
		return NULL;
	}
	*named = (struct sim_named){ *list, copy };
	*list = named;
	return named;
}

void sim_named_free(struct sim_named *list)
{
	for (struct sim_named *named = list, *next; named; named = next) {
		next = named->next;
		free(named->name);
		free(named);
	}
}

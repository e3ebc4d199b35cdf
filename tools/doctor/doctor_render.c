/* SPDX-License-Identifier: MIT */
/* The findings as text and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "render/json.h"
#include "render/console.h"
#include "tools/doctor/doctor.h"

static const struct row {
	const char *section, *id, *question, *remedy;
} rows[] = {
#define GMT_DOCTOR_CHECK(section, id, question, remedy) { #section, #id, question, remedy },
#include "tools/doctor/doctor_checks.def"
#undef GMT_DOCTOR_CHECK
};

enum { ROWS = sizeof(rows) / sizeof(*rows) };

static const char *const state_names[GMT_FINDING_STATES] = { "", "ok", "warning", "problem",
	"unknown" };

/* Returns the remedy, or NULL if the state is OK. */
static const char *remedy_of(size_t index, const struct gmt_doctor_finding *finding)
{
	const char *remedy = finding->remedy[0] ? finding->remedy : rows[index].remedy;

	return finding->state == GMT_FINDING_OK || !*remedy ? NULL : remedy;
}

/* Prints one argument, quoted for a shell. */
static void put_argument(FILE *stream, const char *text)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";

	if (*text && text[strspn(text, safe)] == 0) {
		fputs(text, stream);
		return;
	}
	fputc('\'', stream);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stream);
		else
			fputc(*text, stream);
	fputc('\'', stream);
}

/* Returns the next command to type, from malloc; NULL: memory is exhausted. */
static char *next_command(const struct gmt_doctor_result *result)
{
	static const char *const example[] = { "python", "train.py", NULL };
	const char *const *command = (const char *const *)result->doctor->command;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	if (result->can_be_recorded || command)
		fprintf(stream, "gpumemtrace %s", result->can_be_recorded ? "run --" : "doctor --");
	else
		fputs("gpumemtrace doctor", stream);
	if (!command && result->can_be_recorded)
		command = example;
	for (; command && *command; command++) {
		fputc(' ', stream);
		put_argument(stream, *command);
	}
	fclose(stream);
	return text;
}

static void put_count(FILE *file, size_t count, const char *one, bool *is_first)
{
	if (!count)
		return;
	fprintf(file, "%s%zu %s%s", *is_first ? ": " : ", ", count, one, count == 1 ? "" : "s");
	*is_first = false;
}

static void put_summary(const struct gmt_doctor_result *result, const struct gmt_console *console)
{
	bool is_first = true;
	char *next = next_command(result);

	gmt_console_style(console, result->can_be_recorded ? GMT_CONSOLE_BOLD : GMT_CONSOLE_WARN);
	fprintf(console->file, "\n%s %s be recorded",
		result->doctor->command ? "this command" : "a program",
		result->can_be_recorded ? "can" : "cannot");
	put_count(console->file, result->counts[GMT_FINDING_PROBLEM], "problem", &is_first);
	put_count(console->file, result->counts[GMT_FINDING_WARNING], "warning", &is_first);
	put_count(console->file, result->counts[GMT_FINDING_UNKNOWN], "unanswered question", &is_first);
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
	fprintf(console->file, "\nnext: %s",
		result->can_be_recorded ? "" : "solve the problems, then ");
	gmt_console_text(console, next ? next : "gpumemtrace run --help");
	fputc('\n', console->file);
	free(next);
}

void gmt_doctor_text(const struct gmt_doctor_result *result, FILE *file, bool color)
{
	struct gmt_console console = { file, color };
	const char *section = "";

	for (size_t i = 0; i < ROWS; i++) {
		const struct gmt_doctor_finding *finding = &result->findings[i];
		const char *remedy = remedy_of(i, finding);
		bool is_ok = finding->state == GMT_FINDING_OK;

		if (finding->state == GMT_FINDING_NONE)
			continue;
		if (strcmp(section, rows[i].section) != 0) {
			gmt_console_style(&console, GMT_CONSOLE_BOLD);
			fprintf(file, "%s%s\n", *section ? "\n" : "", rows[i].section);
			gmt_console_style(&console, GMT_CONSOLE_NORMAL);
			section = rows[i].section;
		}
		gmt_console_style(&console, is_ok ? GMT_CONSOLE_DIM : GMT_CONSOLE_WARN);
		fprintf(file, "  %-8s", state_names[finding->state]);
		gmt_console_style(&console, GMT_CONSOLE_NORMAL);
		fprintf(file, " %-18s ", rows[i].id);
		gmt_console_text(&console, finding->text);
		fputc('\n', file);
		if (remedy) {
			fprintf(file, "  %-27s do: ", "");
			gmt_console_text(&console, remedy);
			fputc('\n', file);
		}
	}
	put_summary(result, &console);
}

static void put_checks(const struct gmt_doctor_result *result, struct gmt_json *json)
{
	gmt_json_key_array(json, "checks");
	for (size_t i = 0; i < ROWS; i++) {
		const struct gmt_doctor_finding *finding = &result->findings[i];

		if (finding->state == GMT_FINDING_NONE)
			continue;
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "id", rows[i].id);
		gmt_json_key_text(json, "section", rows[i].section);
		gmt_json_key_text(json, "question", rows[i].question);
		gmt_json_key_text(json, "verdict", state_names[finding->state]);
		gmt_json_key_text(json, "finding", finding->text);
		gmt_json_key_text(json, "remedy", remedy_of(i, finding));
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void put_devices(const struct gmt_doctor_driver *driver, struct gmt_json *json)
{
	gmt_json_key_array(json, "devices");
	for (uint32_t i = 0; i < driver->device_count && i < GMT_DOCTOR_DEVICES; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "device", i);
		gmt_json_key_text(json, "name", driver->devices[i].name);
		gmt_json_key_u64(json, "total_bytes", driver->devices[i].total_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

void gmt_doctor_json(const struct gmt_doctor_result *result, FILE *file)
{
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = 2 };
	char *next = next_command(result);

	gmt_json_begin_object(&json);
	gmt_json_key_text(&json, "schema", "gpumemtrace.doctor/1");
	gmt_json_key_text(&json, "program_version", GMT_PROGRAM_VERSION);
	gmt_json_key(&json, "command");
	if (result->doctor->command) {
		gmt_json_begin_array(&json);
		for (char **word = result->doctor->command; *word; word++)
			gmt_json_text(&json, *word);
		gmt_json_end_array(&json);
	} else {
		gmt_json_null(&json);
	}
	gmt_json_key(&json, "can_be_recorded");
	gmt_json_bool(&json, result->can_be_recorded);
	gmt_json_key(&json, "counts");
	gmt_json_begin_object(&json);
	for (int i = GMT_FINDING_OK; i < GMT_FINDING_STATES; i++)
		gmt_json_key_u64(&json, state_names[i], result->counts[i]);
	gmt_json_end_object(&json);
	put_checks(result, &json);
	put_devices(&result->doctor->driver, &json);
	gmt_json_key_text(&json, "next", next);
	gmt_json_end_object(&json);
	fputc('\n', file);
	free(next);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static const struct {
	const char *word;
	bool serious;
} kinds[PROBLEM_COUNT] = {
#define X(c, w, s) { w, s },
	PROBLEM_TABLE(X)
#undef X
};

const char *problem_word(enum problem_kind kind)
{
	return kinds[kind].word;
}

bool problem_serious(enum problem_kind kind)
{
	return kinds[kind].serious;
}

static void keep(struct problems *p, struct problem problem)
{
	if (p->n == p->capacity) {
		size_t capacity = p->capacity ? 2 * p->capacity : 16;
		struct problem *list = realloc(p->list, capacity * sizeof(*list));

		if (!list) {
			free(problem.file);
			free(problem.text);
			return;
		}
		p->list = list;
		p->capacity = capacity;
	}
	p->list[p->n++] = problem;
}

void problem_add(struct problems *p, enum problem_kind kind, const char *file, unsigned line,
		 const char *fmt, ...)
{
	struct problem problem = { .kind = kind, .line = line };
	va_list ap;

	if (p->count[kind]++ >= PROBLEMS_KEPT)
		return;
	va_start(ap, fmt);
	if (vasprintf(&problem.text, fmt, ap) < 0)
		problem.text = NULL;
	va_end(ap);
	problem.file = file ? strdup(file) : NULL;
	if (problem.file)
		text_clean(problem.file, strlen(problem.file));
	if (problem.text) {
		text_clean(problem.text, strlen(problem.text));
		keep(p, problem);
	} else {
		free(problem.file);
	}
}

void problems_finish(struct problems *p)
{
	for (int kind = 0; kind < PROBLEM_COUNT; kind++) {
		struct problem problem = { .kind = kind };

		if (p->count[kind] <= PROBLEMS_KEPT)
			continue;
		if (asprintf(&problem.text, "and %zu more of the kind '%s'",
			     p->count[kind] - PROBLEMS_KEPT, kinds[kind].word) >= 0)
			keep(p, problem);
	}
}

bool problems_serious(const struct problems *p)
{
	for (int kind = 0; kind < PROBLEM_COUNT; kind++)
		if (kinds[kind].serious && p->count[kind] > 0)
			return true;
	return false;
}

void problems_print(const struct problems *p, FILE *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct problem *problem = &p->list[i];

		fprintf(out, "ergon merge: ");
		if (problem->file)
			fprintf(out, "%s:", problem->file);
		if (problem->file && problem->line)
			fprintf(out, "%u:", problem->line);
		fprintf(out, "%s%s%s\n", problem->file ? " " : "",
			kinds[problem->kind].serious ? "" : "note: ", problem->text);
	}
}

void problems_free(struct problems *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->list[i].file);
		free(p->list[i].text);
	}
	free(p->list);
	memset(p, 0, sizeof(*p));
}

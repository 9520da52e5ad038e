/* SPDX-License-Identifier: BSD-3-Clause */
#include "flags.h"

#include <string.h>

static const struct {
	const char *word;
	const char *meaning;
} flag_table[ERGON_FLAG_COUNT] = {
#define X(c, w, m) { w, m },
	ERGON_FLAG_TABLE(X)
#undef X
};

const char *ergon_flag_word(unsigned bit)
{
	return bit < ERGON_FLAG_COUNT ? flag_table[bit].word : NULL;
}

const char *ergon_flag_meaning(unsigned bit)
{
	return bit < ERGON_FLAG_COUNT ? flag_table[bit].meaning : NULL;
}

char *ergon_flags_format(unsigned flags, char *buf, size_t size)
{
	size_t used = 0;

	if (size == 0)
		return buf;
	buf[0] = '\0';
	for (unsigned bit = 0; bit < ERGON_FLAG_COUNT; bit++) {
		const char *word = flag_table[bit].word;
		size_t len = strlen(word);

		if (!(flags & (1u << bit)))
			continue;
		if (used + (used > 0) + len + 1 > size)
			break;
		if (used > 0)
			buf[used++] = '|';
		memcpy(buf + used, word, len + 1);
		used += len;
	}
	return buf;
}

unsigned ergon_flags_parse(const char *text)
{
	unsigned flags = 0;

	while (text && *text) {
		size_t len = strcspn(text, "|");

		for (unsigned bit = 0; bit < ERGON_FLAG_COUNT; bit++)
			if (strlen(flag_table[bit].word) == len &&
			    strncmp(flag_table[bit].word, text, len) == 0)
				flags |= 1u << bit;
		text += len + (text[len] == '|');
	}
	return flags;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "ledger.h"

#include <stddef.h>

static const char *const activity_words[ERGON_ACTIVITY_COUNT] = {
#define X(c, w) [ERGON_ACTIVITY_##c] = w,
	ERGON_ACTIVITY_TABLE(X)
#undef X
};

static const struct {
	enum ergon_domain domain;
	const char *word;
} columns[ERGON_COLUMN_COUNT] = {
#define X(c, d, w) [ERGON_COLUMN_##c] = { ERGON_DOMAIN_##d, w },
	ERGON_COLUMN_TABLE(X)
#undef X
};

const char *ergon_activity_word(enum ergon_activity activity)
{
	return (unsigned)activity < ERGON_ACTIVITY_COUNT ? activity_words[activity] : NULL;
}

const char *ergon_column_word(enum ergon_column column)
{
	return (unsigned)column < ERGON_COLUMN_COUNT ? columns[column].word : NULL;
}

int ergon_column_of(const struct ergon_board_channel *channel)
{
	for (int i = 0; i < ERGON_COLUMN_COUNT; i++)
		if ((int32_t)columns[i].domain == channel->domain)
			return i;
	return -1;
}

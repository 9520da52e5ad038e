/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

/* Length of the UTF-8 sequence at s, 0: none. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	static const struct { unsigned char mask, lead; unsigned min; } forms[] = {
		{ 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t len = i + 2;
		unsigned code;

		if ((s[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (len > left)
			return 0;
		code = s[0] & (unsigned char)~forms[i].mask;
		for (size_t k = 1; k < len; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[k] & 0x3f);
		}
		/* Overlong forms, surrogates, C1 controls and what is past Unicode are refused. */
		if (code < forms[i].min || code < 0xa0 || code > 0x10ffff ||
		    (code >= 0xd800 && code < 0xe000))
			return 0;
		return len;
	}
	return 0;
}

bool text_clean(char *text, size_t len)
{
	unsigned char *s = (unsigned char *)text;
	bool changed = false;

	for (size_t i = 0; i < len;) {
		size_t step = 1;

		if (s[i] >= 0x80)
			step = utf8_length(s + i, len - i);
		else if (s[i] < 0x20 || s[i] == 0x7f)
			step = 0;
		if (step == 0) {
			s[i] = '?';
			changed = true;
			step = 1;
		}
		i += step;
	}
	return changed;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a number is not plain "ok". A set of bits per value; the same words
 * appear in samples, records, rank CSVs and reports.
 */
#ifndef ERGON_FLAGS_H
#define ERGON_FLAGS_H

#include <stddef.h>

/* X(constant, word, meaning) */
#define ERGON_FLAG_TABLE(X) \
	X(WRAPPED,   "wrapped?",  "longer than one wrap at full power: a lower bound") \
	X(RESET,     "reset",     "the counter was reset: the interval is lost") \
	X(GAP,       "gap",       "a reading failed (merged or lost), or the machine slept (lost)") \
	X(REPAIRED,  "repaired",  "a negative perf delta was corrected by 2^32 raw units") \
	X(GLITCH,    "glitch",    "more power than the domain can draw: dropped") \
	X(ESTIMATED, "estimated", "computed from a model, not measured") \
	X(PARTIAL,   "partial",   "the run ended without its end being seen") \
	X(SHORT,     "short",     "too short to split reliably; the sum is right") \
	X(SCALED,    "scaled",    "multiplexed or extrapolated") \
	X(SHARED,    "shared",    "the node was not the step's alone") \
	X(MISSED,    "missed",    "planned samples were not taken") \
	X(NOENERGY,  "noenergy",  "no energy source could be used") \
	X(LATE,      "late",      "sampling started after the step's first task") \
	X(STALE,     "stale",     "the counter stood still where it should have moved") \
	X(DISAGREE,  "disagree",  "two mechanisms differ by more than their resolution") \
	X(DOUBTED,   "doubted",   "the source says of itself that it is not measuring")

enum ergon_flag_bit {
#define X(c, w, m) ERGON_FLAG_BIT_##c,
	ERGON_FLAG_TABLE(X)
#undef X
	ERGON_FLAG_COUNT
};

enum ergon_flag {
#define X(c, w, m) ERGON_FLAG_##c = 1u << ERGON_FLAG_BIT_##c,
	ERGON_FLAG_TABLE(X)
#undef X
	ERGON_FLAG_NONE = 0
};

/* The word for one bit number (0 .. ERGON_FLAG_COUNT-1), NULL past the end. */
const char *ergon_flag_word(unsigned bit);

/* What the word means, NULL past the end. */
const char *ergon_flag_meaning(unsigned bit);

/* Write "a|b" into buf (always terminated); "" for no flags. Returns buf. */
char *ergon_flags_format(unsigned flags, char *buf, size_t size);

/* Inverse of ergon_flags_format; unknown words are ignored. */
unsigned ergon_flags_parse(const char *text);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stub library answers is told by a text file, named by
 * ERGON_TEST_GPUS and read at each call; the test replaces it (rename) to
 * make something happen:
 *
 *	init RC MILLISECONDS
 *	gpu ADDRESS FIND-RC ENERGY-RC ENERGY POWER-RC POWER
 *
 * ADDRESS as 0000:41:00.0; ENERGY and POWER in the library's own units.
 * Each call is noted in FILE.calls, where that exists.
 */
#ifndef ERGON_TEST_STORY_H
#define ERGON_TEST_STORY_H

#define STORY_GPUS 16
#define STUB_API __attribute__((visibility("default")))

struct story_gpu {
	char address[32];
	int find_rc;
	int energy_rc;
	unsigned long long energy;
	int power_rc;
	unsigned power;
};

struct story {
	int init_rc;
	unsigned init_ms;
	unsigned n;
	struct story_gpu gpus[STORY_GPUS];
};

void story_read(struct story *story);

/* Note a call; init takes as long as the story says, and 1 MiB of stack, as vendors' code may. */
void story_note(const char *call);
void story_take_time(const struct story *story);

#endif

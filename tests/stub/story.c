/* SPDX-License-Identifier: BSD-3-Clause */
#include "story.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *story_path(void)
{
	const char *path = getenv("ERGON_TEST_GPUS");

	return path ? path : "/dev/null";
}

void story_read(struct story *story)
{
	FILE *in = fopen(story_path(), "re");
	char line[256];

	memset(story, 0, sizeof(*story));
	while (in && fgets(line, sizeof(line), in)) {
		struct story_gpu *gpu = &story->gpus[story->n];

		sscanf(line, "init %d %u", &story->init_rc, &story->init_ms);
		if (story->n < STORY_GPUS &&
		    sscanf(line, "gpu %31s %d %d %llu %d %u", gpu->address, &gpu->find_rc,
			   &gpu->energy_rc, &gpu->energy, &gpu->power_rc, &gpu->power) == 6)
			story->n++;
	}
	if (in)
		fclose(in);
}

void story_note(const char *call)
{
	char path[PATH_MAX];
	int fd;

	/* Not created: the test may have removed its files when a late thread gets here. */
	snprintf(path, sizeof(path), "%s.calls", story_path());
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	dprintf(fd, "%s\n", call);
	close(fd);
}

void story_take_time(const struct story *story)
{
	struct timespec t = {
		.tv_sec = story->init_ms / 1000, .tv_nsec = story->init_ms % 1000 * 1000000L
	};

	volatile char stack[1 << 20];

	for (size_t i = 0; i < sizeof(stack); i += 512)
		stack[i] = 1;
	/* The C library interrupts all threads when one changes the user. */
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

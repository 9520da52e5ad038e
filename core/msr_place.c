/* SPDX-License-Identifier: BSD-3-Clause */
#include "msr_place.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const devices[] = { "msr", "msr_safe" };

bool ergon_msr_place_has(const struct ergon_msr_place *place, const struct ergon_cpu *cpu)
{
	return cpu->package == place->package && (place->die < 0 || cpu->die == place->die) &&
	       (place->core < 0 || cpu->core == place->core);
}

bool ergon_msr_is_gone(int error)
{
	return error == ENXIO || error == ENOENT;
}

void ergon_msr_place_explain(const struct ergon_msr_place *place, uint32_t address,
			     struct ergon_msr_failure *why)
{
	size_t len;

	why->error = errno;
	why->listed = address && place->safe && errno == EACCES;
	snprintf(why->what, sizeof(why->what), "/dev/cpu/%d/%s", place->cpu, devices[place->safe]);
	len = strlen(why->what);
	if (address)
		snprintf(why->what + len, sizeof(why->what) - len, " register 0x%x", address);
}

int ergon_msr_place_read(const struct ergon_msr_place *place, uint32_t address, uint64_t *value)
{
	uint64_t raw;
	ssize_t n = pread(place->fd, &raw, sizeof(raw), (off_t)address);

	if (n == (ssize_t)sizeof(raw)) {
		*value = le64toh(raw);
		return 0;
	}
	if (n >= 0)
		errno = EIO;
	return -1;
}

/* An fd, or -1 + errno. Sets place->safe to whose fd or errno it is. */
static int open_device(struct ergon_msr_place *place, const struct ergon_sysroot *sr)
{
	int error = ENOENT;
	bool culprit = false;

	for (int safe = 0; safe < 2; safe++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/dev/cpu/%d/%s", place->cpu, devices[safe]);
		fd = ergon_sysroot_open_file(sr, path, O_RDONLY);
		place->safe = safe;
		if (fd >= 0)
			return fd;
		/* Where only one of them exists, its answer is the one that matters. */
		if (errno != ENOENT && error == ENOENT) {
			error = errno;
			culprit = safe;
		}
	}
	place->safe = culprit;
	errno = error;
	return -1;
}

/* -1 + *why. */
static int open_cpu(struct ergon_msr_place *place, const struct ergon_sysroot *sr,
		    uint32_t address, uint64_t *value, struct ergon_msr_failure *why)
{
	int fd = open_device(place, sr);

	if (fd < 0) {
		ergon_msr_place_explain(place, 0, why);
		return -1;
	}
	place->fd = fd;
	if (ergon_msr_place_read(place, address, value) == 0)
		return 0;
	ergon_msr_place_explain(place, address, why);
	close(fd);
	return -1;
}

int ergon_msr_place_open(struct ergon_msr_place *place, const struct ergon_sysroot *sr,
			 const struct ergon_topo *topo, uint32_t address, uint64_t *value,
			 struct ergon_msr_failure *why)
{
	struct ergon_msr_place tried = *place;
	struct ergon_msr_failure one;

	*why = (struct ergon_msr_failure){ .error = ENXIO };
	for (size_t i = 0; i < topo->ncpus && ergon_msr_is_gone(why->error); i++) {
		if (!ergon_msr_place_has(place, &topo->cpus[i]))
			continue;
		tried.cpu = topo->cpus[i].os;
		if (open_cpu(&tried, sr, address, value, &one) == 0) {
			*place = tried;
			return 0;
		}
		if (!*why->what || !ergon_msr_is_gone(one.error))
			*why = one;
	}
	return -1;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "gpu_count.h"

#define ASK_POWER_NS 1000000000u
#define STANDS_STILL_NS 5000000000u

void ergon_gpu_count_before(struct ergon_gpu_count *c, uint64_t uw, uint64_t t_ns)
{
	struct ergon_integral before = { .based = false };

	ergon_integral_add(&before, uw, c->start_ns);
	ergon_integral_add(&before, uw, t_ns);
	c->uj = before.uj;
}

void ergon_gpu_count_energy(struct ergon_gpu_count *c, uint64_t uj, uint64_t t_ns)
{
	bool lower = c->based && uj < c->counter;

	if (c->by_power || (c->based && uj == c->counter)) {
		c->doubted = false;
		return;
	}
	if (lower && !c->doubted) {
		c->doubted = true;
		return;
	}
	if (lower)
		c->uj = 0;
	else if (c->based)
		c->uj += uj - c->counter;
	c->counter = uj;
	c->based = true;
	c->doubted = false;
	c->moved_ns = t_ns;
	c->since = (struct ergon_integral){ .based = false };
}

void ergon_gpu_count_no_energy(struct ergon_gpu_count *c)
{
	c->by_power = true;
	c->moved_ns = c->start_ns;
}

bool ergon_gpu_count_wants_power(const struct ergon_gpu_count *c, uint64_t t_ns)
{
	return c->by_power || (c->based && t_ns >= c->moved_ns + ASK_POWER_NS);
}

void ergon_gpu_count_power(struct ergon_gpu_count *c, uint64_t uw, uint64_t t_ns)
{
	/* Before its first reading power was what that says. */
	if (!c->since.based)
		ergon_integral_add(&c->since, uw, c->moved_ns);
	ergon_integral_add(&c->since, uw, t_ns);
	if (!c->by_power && t_ns >= c->moved_ns + STANDS_STILL_NS && c->since.uj > 0) {
		c->by_power = true;
		c->base_uj = c->uj;
	}
	if (c->by_power) {
		c->uj = c->base_uj + c->since.uj;
		c->based = true;
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's power as its BMC tells it (dcmi.h), made energy: whole watts
 * that change every one to five seconds, at the wall side of the power
 * supplies. All talk with the BMC is on a slow thread, the first word
 * included: whether it answers at all shows only there.
 *
 * Not automatic: every request keeps a BMC busy, which other tools of the
 * site and the node's own management need.
 */
#include "backend_dcmi.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "dcmi.h"
#include "flags.h"
#include "log.h"
#include "slow.h"

#define REMEDY_DRIVER "modprobe ipmi_si (or ipmi_ssif) and ipmi_devintf; in a VM measure on the host"
#define REMEDY_RIGHTS "run as root: IPMI devices are root's alone"

/* A busy BMC is asked again, so often and after such a while. */
#define ATTEMPTS 3
#define PAUSE_NS 100000000

static const struct ergon_dcmi_pace usual_pace = {
	.period_ns = 1000000000u,
	.hold_ns = 10000000000u,
	.timeout_ms = 5000,
};

/* All that the thread touches: it outlives the backend when the BMC hangs. */
struct asker {
	const struct ergon_ipmi_transport *transport;
	void *bmc;
	unsigned timeout_ms;
	double max_watts;
	atomic_bool doubted;      /* the last good answer: "not measuring" */
	char told[80];            /* why there was no reading, the last time */
};

struct dcmi {
	struct asker *asker;
	struct ergon_slow *slow;
	struct ergon_channel channel;
};

/* --- on the slow thread --- */

/* Of no reading: why, for those who debug; each reason once in a row. */
static void tell(struct asker *asker, const char *why)
{
	if (strcmp(asker->told, why) != 0 && *why)
		ergon_log(ERGON_LOG_DEBUG, ERGON_LOG_BACKEND, "dcmi: no reading: %s", why);
	snprintf(asker->told, sizeof(asker->told), "%s", why);
}

/* Ask once; "" in why when the verdict is good. */
static enum ergon_dcmi_verdict ask(struct asker *asker, struct ergon_dcmi_power *power,
				   char *why, size_t size)
{
	uint8_t answer[64];
	ssize_t len = asker->transport->transact(asker->bmc, &ergon_dcmi_get_power, answer,
						 sizeof(answer), asker->timeout_ms);
	enum ergon_dcmi_verdict verdict;

	if (len < 0) {
		snprintf(why, size, "%s", strerror(errno));
		return ERGON_DCMI_MALFORMED;
	}
	verdict = ergon_dcmi_decode_power(answer, (size_t)len, power);
	if (verdict == ERGON_DCMI_GOOD && power->watts > asker->max_watts) {
		snprintf(why, size, "%u W are more than the node can draw", power->watts);
		return ERGON_DCMI_NO_READING;
	}
	if (verdict == ERGON_DCMI_REFUSED || verdict == ERGON_DCMI_BUSY)
		snprintf(why, size, "completion code 0x%02X", answer[0]);
	else
		snprintf(why, size, "%s", verdict == ERGON_DCMI_MALFORMED ? "not an answer of DCMI's" :
			 verdict == ERGON_DCMI_NO_READING ? "0 W or 65535 W" : "");
	return verdict;
}

static void read_power(void *arg, uint64_t *raw, bool *ok, uint64_t *t_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	enum ergon_dcmi_verdict verdict;
	struct asker *asker = arg;
	struct ergon_dcmi_power power;
	char why[sizeof(asker->told)];

	verdict = ask(asker, &power, why, sizeof(why));
	for (int i = 1; verdict == ERGON_DCMI_BUSY && i < ATTEMPTS; i++) {
		nanosleep(&pause, NULL);
		verdict = ask(asker, &power, why, sizeof(why));
	}
	tell(asker, why);
	if (verdict != ERGON_DCMI_GOOD)
		return;
	asker->doubted = !power.active;
	*raw = power.watts * 1000000ull;
	*t_ns = ergon_clock_ns(); /* measured shortly before it was told */
	*ok = true;
}

static void free_asker(void *arg)
{
	struct asker *asker = arg;

	asker->transport->close(asker->bmc);
	free(asker);
}

/* --- opening --- */

/* The BMC's handle, or NULL and why. */
static void *open_bmc(const struct ergon_machine *m, const struct ergon_ipmi_transport *transport,
		      struct ergon_probe *out)
{
	void *bmc = transport->open(m->sysroot);

	if (bmc)
		ergon_probe_set(out, ERGON_PROBE_OK, "", "%s", "");
	else if (errno == EACCES || errno == EPERM)
		ergon_probe_set(out, ERGON_PROBE_PERMISSION, REMEDY_RIGHTS,
				"/dev/ipmi0: %s", strerror(errno));
	else if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		ergon_probe_set(out, ERGON_PROBE_ABSENT, REMEDY_DRIVER,
				"no IPMI device: /dev/ipmi0: %s", strerror(errno));
	else
		ergon_probe_set(out, ERGON_PROBE_UNSUPPORTED, "", "/dev/ipmi0: %s", strerror(errno));
	return bmc;
}

static void dcmi_probe(const struct ergon_machine *m, struct ergon_probe *out)
{
	ergon_ipmi_device.close(open_bmc(m, &ergon_ipmi_device, out));
}

static int start_thread(struct dcmi *d, const struct ergon_dcmi_pace *pace, struct ergon_error *err)
{
	static const enum ergon_slow_kind kind = ERGON_SLOW_POWER;
	const struct ergon_slow_config config = {
		.thread_name = "ergon-dcmi",
		.period_ns = pace->period_ns,
		.hold_ns = pace->hold_ns,
		.n = 1,
		.kinds = &kind,
		.read = read_power,
		.release = free_asker,
		.arg = d->asker,
	};

	d->slow = ergon_slow_start(&config, err);
	return d->slow ? 0 : -1;
}

void *ergon_dcmi_open(const struct ergon_machine *m, const struct ergon_ipmi_transport *transport,
		      const struct ergon_dcmi_pace *pace, struct ergon_error *err)
{
	double max_watts = ergon_machine_max_watts(m, ERGON_DOMAIN_NODE);
	struct ergon_probe probe;
	void *bmc = open_bmc(m, transport, &probe);
	struct dcmi *d;

	if (!bmc) {
		ergon_probe_error("dcmi", &probe, err);
		return NULL;
	}
	d = calloc(1, sizeof(*d));
	if (d)
		d->asker = calloc(1, sizeof(*d->asker));
	if (!d || !d->asker) {
		ergon_error_set(err, "out of memory");
		goto failed;
	}
	*d->asker = (struct asker){
		.transport = transport,
		.bmc = bmc,
		.timeout_ms = pace->timeout_ms,
		.max_watts = max_watts,
	};
	d->channel = (struct ergon_channel){
		.domain = ERGON_DOMAIN_NODE,
		.package = -1,
		.die = -1,
		.unit_j = 1e-6,
		.max_watts = max_watts,
		.step_ns = pace->hold_ns,
		.from_open = true,
		.integrated = true,
		.source = "dcmi",
		.detail = "Get Power Reading",
	};
	ergon_channel_set_name(&d->channel);
	if (start_thread(d, pace, err) == 0)
		return d;
	free(d->asker);
failed:
	free(d);
	transport->close(bmc);
	return NULL;
}

static void *dcmi_open(const struct ergon_machine *m, struct ergon_error *err)
{
	return ergon_dcmi_open(m, &ergon_ipmi_device, &usual_pace, err);
}

static void dcmi_close(void *inst)
{
	struct dcmi *d = inst;
	int saved = errno;

	if (!d)
		return;
	ergon_slow_stop(d->slow); /* releases the asker */
	free(d);
	errno = saved;
}

static size_t dcmi_channels(const void *inst, const struct ergon_channel **out)
{
	const struct dcmi *d = inst;

	*out = &d->channel;
	return 1;
}

static size_t dcmi_read(void *inst, uint64_t *raw, bool *ok)
{
	const struct dcmi *d = inst;

	return ergon_slow_latest(d->slow, raw, ok);
}

static unsigned dcmi_flags(const void *inst)
{
	const struct dcmi *d = inst;

	return d->asker->doubted ? ERGON_FLAG_DOUBTED : 0;
}

const struct ergon_backend ergon_backend_dcmi = {
	.name = "dcmi",
	.help = "the node's power as its BMC tells it (IPMI, DCMI)",
	.automatic = false,
	.probe = dcmi_probe,
	.open = dcmi_open,
	.channels = dcmi_channels,
	.read = dcmi_read,
	.flags = dcmi_flags,
	.close = dcmi_close,
};

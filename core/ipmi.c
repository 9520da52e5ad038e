/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linux' ipmi_devintf: a request is queued by ioctl with a number of our
 * choice, poll tells that something came, another ioctl fetches it. What
 * comes may be the late answer to a request that was given up: numbers tell.
 */
#include "ipmi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"

struct bmc {
	int fd;
	long msgid;               /* of the last request */
};

static void *device_open(const struct ergon_sysroot *sysroot)
{
	static const char *const paths[] = { "/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0" };
	struct bmc *bmc = calloc(1, sizeof(*bmc));

	if (!bmc)
		return NULL;
	bmc->fd = -1;
	errno = ENOENT;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && bmc->fd < 0 && errno == ENOENT; i++)
		bmc->fd = ergon_sysroot_open_file(sysroot, paths[i], O_RDWR);
	if (bmc->fd >= 0)
		return bmc;
	free(bmc);
	return NULL;
}

static void device_close(void *inst)
{
	struct bmc *bmc = inst;
	int saved = errno;

	if (!bmc)
		return;
	close(bmc->fd);
	free(bmc);
	errno = saved;
}

static int send_request(struct bmc *bmc, const struct ergon_ipmi_request *request)
{
	struct ipmi_system_interface_addr address = {
		.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
		.channel = IPMI_BMC_CHANNEL,
	};
	struct ipmi_req req = {
		.addr = (unsigned char *)&address,
		.addr_len = sizeof(address),
		.msgid = ++bmc->msgid,
		.msg = {
			.netfn = request->netfn,
			.cmd = request->cmd,
			.data_len = (unsigned short)request->size,
			.data = (unsigned char *)request->data,
		},
	};

	return ioctl(bmc->fd, IPMICTL_SEND_COMMAND, &req);
}

/* Fetch what came: 1 when it is the answer to the last request, 0 when not; -1 + errno. */
static int receive(struct bmc *bmc, const struct ergon_ipmi_request *request,
		   uint8_t *answer, size_t size, size_t *len)
{
	struct ipmi_addr address;
	struct ipmi_recv recv = {
		.addr = (unsigned char *)&address,
		.addr_len = sizeof(address),
		.msg = { .data = answer, .data_len = (unsigned short)size },
	};
	int cut = 0;

	if (ioctl(bmc->fd, IPMICTL_RECEIVE_MSG_TRUNC, &recv) < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		if (errno != EMSGSIZE)
			return -1;
		cut = 1; /* all but its end is there, the number too */
	}
	if (recv.recv_type != IPMI_RESPONSE_RECV_TYPE || recv.msgid != bmc->msgid ||
	    recv.msg.netfn != (request->netfn | 1) || recv.msg.cmd != request->cmd)
		return 0;
	*len = recv.msg.data_len;
	if (!cut && *len <= size)
		return 1;
	errno = EMSGSIZE;
	return -1;
}

/* Until something came: 0; -1 + errno, ETIMEDOUT at the deadline. */
static int await(struct bmc *bmc, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd input = { .fd = bmc->fd, .events = POLLIN };
		uint64_t now = ergon_clock_ns();
		int n = now < deadline_ns ?
			poll(&input, 1, (int)((deadline_ns - now + 999999) / 1000000)) : 0;

		if (n > 0)
			return 0;
		if (n == 0 && ergon_clock_ns() >= deadline_ns)
			errno = ETIMEDOUT;
		else if (n == 0 || errno == EINTR)
			continue;
		return -1;
	}
}

static ssize_t device_transact(void *inst, const struct ergon_ipmi_request *request,
			       uint8_t *answer, size_t size, unsigned timeout_ms)
{
	uint64_t deadline_ns = ergon_clock_ns() + timeout_ms * 1000000ull;
	struct bmc *bmc = inst;
	size_t len;
	int came = 0;

	if (send_request(bmc, request) < 0)
		return -1;
	while (came == 0) {
		if (await(bmc, deadline_ns) < 0)
			return -1;
		came = receive(bmc, request, answer, size, &len);
	}
	return came < 0 ? -1 : (ssize_t)len;
}

const struct ergon_ipmi_transport ergon_ipmi_device = {
	.open = device_open,
	.transact = device_transact,
	.close = device_close,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's IPMI device, played: a FIFO of the temporary machine is
 * what is opened and polled, our ioctl stands behind it. One byte in the
 * FIFO is one message waiting.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ipmi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "ipmi.h"
#include "tree.h"

static const uint8_t data[] = { 0xdc, 0x01, 0x00, 0x00 };
static const struct ergon_ipmi_request request = {
	.netfn = 0x2c, .cmd = 0x02, .data = data, .size = sizeof(data),
};

/* A message that will come. */
struct message {
	int recv_type;
	long id_off;              /* 0: answers the last request, -1: the one before */
	uint8_t netfn, cmd;
	size_t size;
	int error;                /* of the ioctl that fetches it; 0: none */
};

#define ANSWER { IPMI_RESPONSE_RECV_TYPE, 0, 0x2d, 0x02, 19, 0 }

static struct {
	const struct message *messages;
	size_t nmessages, next;
	long msgid;
	int sent, send_error;
} kernel;

int __wrap_ioctl(int fd, unsigned long op, void *arg);

static int send_command(int fd, const struct ipmi_req *req)
{
	const struct ipmi_system_interface_addr *to = (const void *)req->addr;

	assert_int_equal(req->addr_len, sizeof(*to));
	assert_int_equal(to->addr_type, 0x0c);
	assert_int_equal(to->channel, 0xf);
	assert_int_equal(to->lun, 0);
	assert_int_equal(req->msg.netfn, 0x2c);
	assert_int_equal(req->msg.cmd, 0x02);
	assert_int_equal(req->msg.data_len, sizeof(data));
	assert_memory_equal(req->msg.data, data, sizeof(data));
	assert_true(kernel.sent == 0 || req->msgid != kernel.msgid);
	if (kernel.send_error) {
		errno = kernel.send_error;
		return -1;
	}
	kernel.sent++;
	kernel.msgid = req->msgid;
	for (size_t i = kernel.next; i < kernel.nmessages; i++)
		assert_int_equal(write(fd, "x", 1), 1);
	return 0;
}

static int receive_trunc(int fd, struct ipmi_recv *recv)
{
	const struct message *m = &kernel.messages[kernel.next++];
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
	if (m->error && m->error != EMSGSIZE) {
		errno = m->error;
		return -1;
	}
	recv->recv_type = m->recv_type;
	recv->msgid = kernel.msgid + m->id_off;
	recv->msg.netfn = m->netfn;
	recv->msg.cmd = m->cmd;
	assert_true(recv->addr_len >= sizeof(struct ipmi_system_interface_addr));
	for (size_t i = 0; i < m->size && i < recv->msg.data_len; i++)
		recv->msg.data[i] = (uint8_t)i;
	if (m->size <= recv->msg.data_len) {
		recv->msg.data_len = (unsigned short)m->size;
		return 0;
	}
	errno = EMSGSIZE;
	return -1;
}

int __wrap_ioctl(int fd, unsigned long op, void *arg)
{
	if (op == IPMICTL_SEND_COMMAND)
		return send_command(fd, arg);
	assert_int_equal(op, IPMICTL_RECEIVE_MSG_TRUNC);
	return receive_trunc(fd, arg);
}

static struct tree tree;
static struct ergon_sysroot *sysroot;

static void device_at(const char *path)
{
	char full[PATH_MAX];

	tree_write(&tree, path, ""); /* the directories */
	snprintf(full, sizeof(full), "%s%s", tree.path, path);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(mkfifo(full, 0600), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	tree_create(&tree);
	sysroot = tree_open(&tree);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ergon_sysroot_close(sysroot);
	tree_destroy(&tree);
	return 0;
}

static void *open_device(void)
{
	void *bmc;

	device_at("/dev/ipmi0");
	bmc = ergon_ipmi_device.open(sysroot);
	assert_non_null(bmc);
	return bmc;
}

static ssize_t transact(void *bmc, uint8_t *answer, size_t size, unsigned timeout_ms)
{
	return ergon_ipmi_device.transact(bmc, &request, answer, size, timeout_ms);
}

static void the_kernels_numbers(void **state)
{
	(void)state;
	if (sizeof(void *) != 8)
		skip();
	assert_int_equal(IPMICTL_SEND_COMMAND, 0x8028690d);
	assert_int_equal(IPMICTL_RECEIVE_MSG_TRUNC, 0xc030690b);
}

static void devices_have_three_names(void **state)
{
	static const char *const names[] = { "/dev/ipmidev/0", "/dev/ipmi/0", "/dev/ipmi0" };

	(void)state;
	assert_null(ergon_ipmi_device.open(sysroot));
	assert_int_equal(errno, ENOENT);
	ergon_ipmi_device.close(NULL);
	for (size_t i = 0; i < 3; i++) {
		char full[PATH_MAX];
		void *bmc;

		device_at(names[i]);
		bmc = ergon_ipmi_device.open(sysroot);
		assert_non_null(bmc);
		ergon_ipmi_device.close(bmc);
		snprintf(full, sizeof(full), "%s%s", tree.path, names[i]);
		unlink(full);
	}
	/* What is there and cannot be opened is not passed over. */
	device_at("/dev/ipmi/0");
	tree_write(&tree, "/dev/ipmi0/not-a-device", "");
	assert_null(ergon_ipmi_device.open(sysroot));
	assert_int_equal(errno, EISDIR);
	assert_int_equal(kernel.sent, 0);
}

static void an_answer_is_handed_over(void **state)
{
	static const struct message messages[] = { ANSWER, ANSWER };
	void *bmc = open_device();
	uint8_t answer[64];

	(void)state;
	kernel.messages = messages;
	kernel.nmessages = 1;
	assert_int_equal(transact(bmc, answer, sizeof(answer), 5000), 19);
	for (uint8_t i = 0; i < 19; i++)
		assert_int_equal(answer[i], i);
	kernel.nmessages = 2;
	assert_int_equal(transact(bmc, answer, 19, 5000), 19);
	assert_int_equal(kernel.sent, 2);
	ergon_ipmi_device.close(bmc);
}

/* Late answers, events, commands from the BMC, answers to others: not ours. */
static void what_is_not_the_answer_is_dropped(void **state)
{
	static const struct message messages[] = {
		{ IPMI_RESPONSE_RECV_TYPE, -1, 0x2d, 0x02, 19, 0 },
		{ IPMI_RESPONSE_RECV_TYPE, -1, 0x2d, 0x02, 200, EMSGSIZE },
		{ IPMI_ASYNC_EVENT_RECV_TYPE, 0, 0x2d, 0x02, 16, 0 },
		{ IPMI_CMD_RECV_TYPE, 0, 0x2c, 0x02, 4, 0 },
		{ IPMI_RESPONSE_RECV_TYPE, 0, 0x07, 0x02, 19, 0 },
		{ IPMI_RESPONSE_RECV_TYPE, 0, 0x2d, 0x03, 19, 0 },
		{ IPMI_RESPONSE_RECV_TYPE, 0, 0x2d, 0x02, 19, EAGAIN },
		{ IPMI_RESPONSE_RECV_TYPE, 0, 0x2d, 0x02, 19, EINTR },
		ANSWER,
	};
	void *bmc = open_device();
	uint8_t answer[64];

	(void)state;
	kernel.messages = messages;
	kernel.nmessages = sizeof(messages) / sizeof(messages[0]);
	assert_int_equal(transact(bmc, answer, sizeof(answer), 5000), 19);
	assert_int_equal(kernel.next, kernel.nmessages);
	ergon_ipmi_device.close(bmc);
}

static void silence_ends_at_the_deadline(void **state)
{
	static const struct message late[] = {
		{ IPMI_RESPONSE_RECV_TYPE, -1, 0x2d, 0x02, 19, 0 }, ANSWER,
	};
	void *bmc = open_device();
	uint64_t before = ergon_clock_ns(), took_ms;
	uint8_t answer[64];

	(void)state;
	assert_int_equal(transact(bmc, answer, sizeof(answer), 50), -1);
	assert_int_equal(errno, ETIMEDOUT);
	took_ms = (ergon_clock_ns() - before) / 1000000;
	assert_true(took_ms >= 50);
	assert_true(took_ms < 5000);
	/* Its answer comes in the next transaction, which is not taken in by it. */
	kernel.messages = late;
	kernel.nmessages = 2;
	assert_int_equal(transact(bmc, answer, sizeof(answer), 5000), 19);
	assert_int_equal(kernel.next, 2);
	ergon_ipmi_device.close(bmc);
}

static void errors_are_told(void **state)
{
	static const struct message messages[] = {
		{ IPMI_RESPONSE_RECV_TYPE, 0, 0x2d, 0x02, 200, EMSGSIZE },
		{ IPMI_RESPONSE_RECV_TYPE, 0, 0x2d, 0x02, 19, ENODEV },
	};
	void *bmc = open_device();
	uint8_t answer[64];

	(void)state;
	kernel.messages = messages;
	kernel.nmessages = 1;
	assert_int_equal(transact(bmc, answer, sizeof(answer), 5000), -1);
	assert_int_equal(errno, EMSGSIZE);
	kernel.nmessages = 2;
	assert_int_equal(transact(bmc, answer, sizeof(answer), 5000), -1);
	assert_int_equal(errno, ENODEV);
	kernel.send_error = EBUSY;
	assert_int_equal(transact(bmc, answer, sizeof(answer), 5000), -1);
	assert_int_equal(errno, EBUSY);
	ergon_ipmi_device.close(bmc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_numbers),
		cmocka_unit_test_setup_teardown(devices_have_three_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_is_handed_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_the_answer_is_dropped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(silence_ends_at_the_deadline, set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_are_told, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

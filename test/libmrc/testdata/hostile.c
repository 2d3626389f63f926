/*
 * A user who may use a NIC, and wants more:
 *
 *   hostile SOCKET HELPER
 *
 * HELPER is this program with the rights of its owner (setuid). The status is 0 if the NIC gives the
 * user nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nic.h"

#define SECRET ((char *)0x700000000000) /* nothing else is there */

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "hostile.c:%d: %s: %s\n", __LINE__, #condition,         \
				strerror(errno));                                               \
			_exit(1);                                                               \
		}                                                                               \
	} while (0)

static int dial(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	CHECK(fd >= 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A request, with a descriptor where there is one. Returns the error of the answer. */
static int ask(int nic, uint32_t op, const void *body, size_t size, int fd, void *answer, size_t room)
{
	static char in[NIC_MAX_MESSAGE];
	struct nic_request r = { .op = op, .seq = 1 };
	struct nic_answer a;
	struct iovec parts[2] = { { &r, sizeof(r) }, { (void *)body, size } };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	CHECK(sendmsg(nic, &m, 0) > 0);
	n = recv(nic, in, sizeof(in), 0);
	CHECK(n >= (ssize_t)sizeof(a));
	memcpy(&a, in, sizeof(a));
	if (!a.error && answer) {
		CHECK((size_t)n >= sizeof(a) + room);
		memcpy(answer, in + sizeof(a), room);
	}
	return a.error;
}

static int greet(const char *path)
{
	volatile uint64_t word = 1;
	struct nic_hello h = { .version = NIC_VERSION, .probe = (uintptr_t)&word, .value = 1 };
	int nic = dial(path), memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	CHECK(nic >= 0 && memory >= 0);
	CHECK(ask(nic, NIC_HELLO, &h, sizeof(h), memory, NULL, 0) == 0);
	CHECK(word == ~(uint64_t)1);
	return nic;
}

/* What has more rights: it has a secret, says so, and lives as long as its input. */
static int helper(void)
{
	char c;

	CHECK(geteuid() == 0);
	CHECK(mmap(SECRET, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      SECRET);
	CHECK(write(1, "x", 1) == 1);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}

struct kept {
	int nic;
	uint64_t pd;
	int said[2], life[2];
};

/* Lives in the memory of who has executed the helper, with the connection. */
static int keeper(void *of)
{
	struct kept *k = of;
	struct nic_mr mr = { .pd = k->pd, .addr = (uintptr_t)SECRET, .length = 8, .access = 3 };
	char c;

	close(k->said[1]);
	CHECK(read(k->said[0], &c, 1) == 1);
	_exit(ask(k->nic, NIC_REG_MR, &mr, sizeof(mr), -1, NULL, 0) == EFAULT ? 0 : 2);
}

static void reach_helper(const char *path, const char *program)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct kept k = { .nic = greet(path) };
	struct nic_object pd;
	int status;
	pid_t user = fork();

	CHECK(user >= 0);
	if (user == 0) { /* who will be the helper */
		close(k.nic);
		k.nic = greet(path);
		CHECK(ask(k.nic, NIC_ALLOC_PD, NULL, 0, -1, &pd, sizeof(pd)) == 0);
		k.pd = pd.handle;
		CHECK(pipe(k.said) == 0 && pipe(k.life) == 0);
		/* CLONE_PARENT: the first process hears of its end */
		CHECK(clone(keeper, stack + sizeof(stack), CLONE_VM | CLONE_PARENT | SIGCHLD, &k) > 0);
		dup2(k.life[0], 0);
		dup2(k.said[1], 1);
		close(k.life[1]);
		close(k.said[1]);
		execl(program, program, "--help-yourself", NULL);
		_exit(3);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(wait(&status) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	close(k.nic);
}

static void control(const char *path)
{
	char name[200];
	struct nic_ctl_port p = { .port = 1, .mask = 1, .state = 0 };
	int nic, data;

	CHECK(unshare(CLONE_NEWUSER) == 0); /* full capabilities, there */
	snprintf(name, sizeof(name), "%s%s", path, NIC_CONTROL);
	nic = dial(name);
	CHECK(nic < 0 && errno == EACCES);
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	data = greet(path);
	CHECK(ask(data, NIC_CTL_MODIFY_PORT, &p, sizeof(p), -1, NULL, 0) == EPERM);
}

int main(int argc, char **argv)
{
	int idle[300];

	if (argc == 2)
		return helper();
	CHECK(argc == 3);
	CHECK(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
	      setresuid(65534, 65534, 65534) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	signal(SIGPIPE, SIG_IGN);
	reach_helper(argv[1], argv[2]);
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		idle[i] = dial(argv[1]); /* more than a user may have */
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		close(idle[i]);
	control(argv[1]);
	return 0;
}

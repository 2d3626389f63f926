/*
 * The connection to the NIC: requests and answers over the socket, the doorbell, and noticing that
 * the NIC, or the process, is not what it was.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

#define LOOK_EVERY 4000000ull /* ns */

static void say(const char *format, va_list args)
{
	int error = errno;
	char line[512];

	vsnprintf(line, sizeof(line), format, args);
	fprintf(stderr, "weft nic: %s\n", line);
	errno = error;
}

void weft_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void weft_debug(const char *format, ...)
{
	const char *on = getenv("WEFT_NIC_DEBUG");
	va_list args;

	if (!on || !*on)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

/* --- fork --- */

static pthread_mutex_t conns_lock = PTHREAD_MUTEX_INITIALIZER;
static struct weft_conn *conns;
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&conns_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&conns_lock);
}

/* The child does not keep sockets open: else the NIC would not see that the parent has ended. */
static void in_child(void)
{
	for (struct weft_conn *c = conns; c; c = c->next) {
		atomic_store(&c->forked, true);
		close(c->fd);
		c->fd = -1;
	}
	pthread_mutex_unlock(&conns_lock);
}

static void register_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

int weft_owned(struct weft_conn *conn)
{
	return atomic_load_explicit(&conn->forked, memory_order_relaxed) ? EPERM : 0;
}

/* --- The NIC's end --- */

void weft_bury(struct weft_conn *conn)
{
	if (!atomic_exchange(&conn->dead, true))
		weft_debug("%s: the NIC has ended", conn->device.name);
}

bool weft_dead(struct weft_conn *conn, bool now)
{
	struct pollfd p = { .fd = conn->fd };

	if (atomic_load_explicit(&conn->dead, memory_order_acquire))
		return true;
	if (!now && !weft_load(&conn->doorbell->gone)) {
		struct timespec t;
		unsigned long long ns, before;

		clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
		ns = (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
		before = atomic_load_explicit(&conn->looked, memory_order_relaxed);
		if (ns - before < LOOK_EVERY)
			return false;
		atomic_store_explicit(&conn->looked, ns, memory_order_relaxed);
	}
	if (weft_load(&conn->doorbell->gone) ||
	    (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL))))
		weft_bury(conn);
	return atomic_load_explicit(&conn->dead, memory_order_acquire);
}

/* --- Requests --- */

static void close_all(int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

/* Receives a message into conn->message, and descriptors. Returns its octets, or a negative errno
   value. */
static ssize_t receive(struct weft_conn *conn, int *fds, int room, int *count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = conn->message, .iov_len = NIC_MAX_MESSAGE };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
			    .msg_control = &control, .msg_controllen = sizeof(control) };
	int reset = 0;
	ssize_t n;

	*count = 0;
	/* A NIC that refuses a connection has said why before it reset it. */
	do
		n = recvmsg(conn->fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !reset++)));
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		int got[8];
		size_t k = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || k > 8)
			continue;
		memcpy(got, CMSG_DATA(c), k * sizeof(int));
		for (size_t i = 0; i < k; i++) {
			if (*count < room)
				fds[(*count)++] = got[i];
			else
				close(got[i]);
		}
	}
	return n;
}

static int call_locked(struct weft_conn *conn, struct weft_call *call)
{
	struct nic_request request = { .op = call->op, .seq = ++conn->seq };
	struct iovec parts[3] = {
		{ .iov_base = &request, .iov_len = sizeof(request) },
		{ .iov_base = (void *)call->body, .iov_len = call->body_size },
		{ .iov_base = (void *)call->more, .iov_len = call->more_size },
	};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 3 };
	struct nic_answer answer;
	int fds[3], count;
	size_t head, rest;
	ssize_t n;

	if (weft_dead(conn, false))
		return EIO;
	if (call->op == NIC_HELLO) {
		memcpy(CMSG_DATA(&control.header), &call->memory, sizeof(int));
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	do
		n = sendmsg(conn->fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && !(call->op == NIC_HELLO && errno == EPIPE)) {
		if (errno == EMSGSIZE || errno == ENOMEM || errno == ENOBUFS)
			return errno == EMSGSIZE ? EINVAL : ENOMEM;
		weft_bury(conn);
		return EIO;
	}
	n = receive(conn, fds, 3, &count);
	if (n <= 0) {
		close_all(fds, count);
		weft_bury(conn);
		return EIO;
	}
	memcpy(&answer, conn->message, (size_t)n < sizeof(answer) ? (size_t)n : sizeof(answer));
	if ((size_t)n < sizeof(answer) || answer.seq != request.seq || answer.error < 0) {
		close_all(fds, count);
		weft_debug("request %u: an answer that is none", call->op);
		weft_bury(conn);
		return EIO;
	}
	n -= (ssize_t)sizeof(answer);
	if (answer.error) {
		close_all(fds, count);
		weft_debug("request %u: %s", call->op, strerror(answer.error));
		return answer.error;
	}
	if (count != call->fd_count || (size_t)n < call->answer_size) {
		close_all(fds, count);
		/* Beyond the limit of the process, the kernel leaves descriptors out. */
		weft_debug("request %u: %zd octets and %d descriptors, not %zu and %d", call->op, n,
			   count, call->answer_size, call->fd_count);
		return count < call->fd_count ? EMFILE : EIO;
	}
	head = (size_t)n < call->answer_size ? (size_t)n : call->answer_size;
	rest = (size_t)n - head < call->rest_size ? (size_t)n - head : call->rest_size;
	if (head)
		memcpy(call->answer, conn->message + sizeof(answer), head);
	if (rest)
		memcpy(call->rest, conn->message + sizeof(answer) + head, rest);
	call->got = head + rest;
	memcpy(call->fds, fds, (size_t)count * sizeof(int));
	return 0;
}

int weft_call(struct weft_conn *conn, struct weft_call *call)
{
	int error = weft_owned(conn);

	if (error)
		return error;
	pthread_mutex_lock(&conn->call);
	error = call_locked(conn, call);
	pthread_mutex_unlock(&conn->call);
	return error;
}

int weft_call_object(struct weft_conn *conn, uint32_t op, uint64_t handle)
{
	struct nic_object object = { .handle = handle };
	struct weft_call call = { .op = op, .body = &object, .body_size = sizeof(object) };

	return weft_call(conn, &call);
}

/* --- Shared memory --- */

int weft_map(int fd, size_t size, void **at, size_t *mapped)
{
	struct stat s;

	if (fstat(fd, &s) < 0)
		return errno;
	if (s.st_size < 0 || (size_t)s.st_size < size)
		return EIO;
	*mapped = (size_t)s.st_size;
	*at = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *at == MAP_FAILED ? errno : 0;
}

void weft_ring_bell(struct weft_conn *conn, uint32_t slot)
{
	struct nic_doorbell *d = conn->doorbell;
	uint64_t one = 1;

	__atomic_fetch_or(&d->dirty[slot / 64], 1ull << (slot % 64), __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&d->sleeping, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&d->sleeping, 0, __ATOMIC_SEQ_CST)) {
		ssize_t n;

		do
			n = write(conn->bell, &one, sizeof(one));
		while (n < 0 && errno == EINTR);
	}
}

/* --- Opening --- */

/* The socket that the environment names. */
static int find(struct sockaddr_un *address)
{
	const char *path = getenv("WEFT_NIC_SOCKET");

	if (!path || !*path)
		path = NIC_SOCKET;
	if (strlen(path) + strlen(NIC_CONTROL) >= sizeof(address->sun_path))
		return ENAMETOOLONG;
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	return 0;
}

static int dial(const struct sockaddr_un *address, int *fd)
{
	int n;

	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return errno;
	do
		n = connect(*fd, (const struct sockaddr *)address, sizeof(*address));
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		int error = errno;

		weft_debug("%s: %s", address->sun_path, strerror(error));
		close(*fd);
		return error;
	}
	return 0;
}

/* The socket for control, where this process may open it. */
static int dial_best(struct sockaddr_un *address, int *fd)
{
	size_t end = strlen(address->sun_path);

	strcpy(address->sun_path + end, NIC_CONTROL);
	if (dial(address, fd) == 0)
		return 0;
	address->sun_path[end] = 0;
	return dial(address, fd);
}

/* What the NIC reads and writes memory of this process by. */
static int open_memory(int *fd)
{
	*fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	weft_say("open /proc/self/mem: %s: want procfs at /proc, and a program that is dumpable "
		 "(prctl PR_SET_DUMPABLE)", strerror(errno));
	return errno;
}

static int greet(struct weft_conn *conn)
{
	volatile uint64_t word = (uint64_t)getpid();
	struct nic_hello hello = { .version = NIC_VERSION, .probe = (uintptr_t)&word, .value = word };
	struct weft_call call = { .op = NIC_HELLO, .body = &hello, .body_size = sizeof(hello),
				  .answer = &conn->device, .answer_size = sizeof(conn->device),
				  .fd_count = 3 };
	void *page;
	size_t mapped;
	int error;

	error = open_memory(&call.memory);
	if (error)
		return error;
	error = weft_call(conn, &call);
	close(call.memory);
	if (error == EPROTONOSUPPORT)
		weft_say("the NIC speaks another version of the protocol than this library (%u): "
			 "build both from one version", NIC_VERSION);
	else if (error == EBADF || error == EFAULT)
		weft_say("the NIC cannot use /proc/self/mem of this process: %s; its log says why",
			 strerror(error));
	else if (error == EUSERS)
		weft_say("this user has too many connections to the NIC");
	if (error)
		return error;
	conn->bell = call.fds[1];
	conn->async = call.fds[2];
	fcntl(conn->async, F_SETFL, 0);
	error = weft_map(call.fds[0], sizeof(struct nic_doorbell), &page, &mapped);
	close(call.fds[0]);
	if (error)
		return error;
	munmap(conn->doorbell, NIC_DOORBELL_SIZE);
	conn->doorbell = page;
	conn->device.name[sizeof(conn->device.name) - 1] = 0;
	if (word != ~hello.value) {
		weft_say("the NIC cannot write memory of this process");
		return EFAULT;
	}
	if (conn->device.version != NIC_VERSION) {
		weft_debug("the NIC has version %u of the protocol, this library %u",
			   conn->device.version, NIC_VERSION);
		return EPROTONOSUPPORT;
	}
	if (!conn->device.ports || conn->device.ports > NIC_MAX_PORTS)
		return EIO;
	return 0;
}

static void destroy(struct weft_conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	if (conn->bell >= 0)
		close(conn->bell);
	if (conn->async >= 0)
		close(conn->async);
	if (conn->doorbell)
		munmap(conn->doorbell, NIC_DOORBELL_SIZE);
	pthread_mutex_destroy(&conn->call);
	pthread_mutex_destroy(&conn->events);
	pthread_cond_destroy(&conn->acknowledged);
	free(conn->message);
	free(conn);
}

static void forget(struct weft_conn *conn)
{
	pthread_mutex_lock(&conns_lock);
	for (struct weft_conn **at = &conns; *at; at = &(*at)->next) {
		if (*at == conn) {
			*at = conn->next;
			break;
		}
	}
	pthread_mutex_unlock(&conns_lock);
	destroy(conn);
}

int weft_connect(const struct weft_conn *like, struct weft_conn **result)
{
	struct weft_conn *conn = calloc(1, sizeof(*conn));
	int error;

	if (!conn)
		return ENOMEM;
	conn->size = sizeof(*conn);
	conn->free = forget;
	conn->fd = conn->bell = conn->async = -1;
	conn->pid = getpid();
	atomic_init(&conn->refs, 1);
	pthread_mutex_init(&conn->call, NULL);
	pthread_mutex_init(&conn->events, NULL);
	pthread_cond_init(&conn->acknowledged, NULL);
	conn->message = malloc(NIC_MAX_MESSAGE);
	/* Anonymous memory until the NIC hands over its own. */
	conn->doorbell = mmap(NULL, NIC_DOORBELL_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (conn->doorbell == MAP_FAILED)
		conn->doorbell = NULL;
	error = conn->message && conn->doorbell ? 0 : ENOMEM;
	if (!error && like)
		conn->address = like->address;
	else if (!error)
		error = find(&conn->address);
	if (!error && !like)
		error = dial_best(&conn->address, &conn->fd);
	else if (!error)
		error = dial(&conn->address, &conn->fd);
	if (error) {
		conn->fd = -1;
		destroy(conn);
		return error;
	}
	error = greet(conn);
	if (error) {
		weft_debug("no NIC: %s", strerror(error));
		destroy(conn);
		return error;
	}
	pthread_once(&watch_forks, register_forks);
	pthread_mutex_lock(&conns_lock);
	conn->next = conns;
	conns = conn;
	pthread_mutex_unlock(&conns_lock);
	*result = conn;
	return 0;
}

void weft_hold(struct weft_conn *conn)
{
	atomic_fetch_add(&conn->refs, 1);
}

void weft_release(struct weft_conn *conn)
{
	if (atomic_fetch_sub(&conn->refs, 1) == 1)
		conn->free(conn);
}

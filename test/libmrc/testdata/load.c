/*
 * Loads two NICs with messages, from one process to another:
 *
 *   load SOCKET1 SOCKET2 QPS LARGEST SECONDS SEED    until the time is over; every octet is compared
 *   load SOCKET1 SOCKET2 1 OCTETS 0 COUNT            COUNT messages as fast as it can; the memory is
 *                                                    compared at the end
 *
 * The process at SOCKET1 sends, with LARGEST octets at most, in the first case a WRITE with Immediate for
 * each message, whose receiver compares it and tells the sender so by a WRITE of its own. Each second
 * the sender forks; the child may not use the NIC, and leaves the parent's work alone.
 *
 * Exit status: 0 all is as it should be; 3 the NIC or the peer has gone, which an error said; 1
 * anything else.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <mrc.h>

enum { WINDOW = 8, DEPTH = 1024, SIGNALS = 64, GONE = 3, MARK = 0x5A, GUARD = 64, MAX_QPS = 64 };
#define POOL (8u << 20)

struct end {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey;
	uint64_t addr;
};

struct pair { /* an end of a queue pair */
	struct mrc_qp *qp;
	struct end me, peer;
	uint8_t *slots; /* of the receiver */
	uint64_t begun, done, draws;
};

static const char *role = "load";
static struct ibv_context *device;
static struct ibv_pd *pd;
static struct mrc_context *context;
static struct mrc_comp_channel *channel;
static struct mrc_cq *cq;
static struct ibv_mr *pool_mr, *mr;
static uint8_t *pool;
/* Of the sender, for each slot of its peers: the number, from 1, of the last message there that was
   compared. WRITEs arrive in any order, so no two that are under way may go to one place. */
static volatile uint64_t (*credits)[WINDOW];
static uint8_t *slots;
static size_t largest, stride;
static int count, sock;
static struct pair pairs[MAX_QPS];

static void __attribute__((noreturn, format(printf, 2, 3))) leave(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", role);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	_exit(status);
}

/* An error that the end of the NIC explains, or another. */
static void __attribute__((noreturn)) failed(const char *what, int error)
{
	leave(error == EIO || error == ECONNREFUSED || error == ENOENT || error == EPIPE ? GONE : 1,
	      "%s: %s", what, strerror(error));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* The next message: many are small. */
static size_t next_of(struct pair *p, size_t *from)
{
	uint64_t a = draw(&p->draws), b = draw(&p->draws);
	size_t limit = largest >> a % 20;

	*from = b % (POOL - largest);
	return 1 + (a >> 8) % (limit ? limit : 1);
}

static void *memory(size_t size)
{
	void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		leave(1, "mmap of %zu octets", size);
	return m;
}

static void open_nic(const char *path, bool sender)
{
	struct ibv_device **all;
	size_t size = sender ? sizeof(*credits) * MAX_QPS : (size_t)count * WINDOW * stride;
	uint8_t *m;

	setenv("WEFT_NIC_SOCKET", path, 1);
	all = ibv_get_device_list(NULL);
	if (!all || !all[0])
		leave(GONE, "no device");
	device = ibv_open_device(all[0]);
	if (!device)
		failed("open", errno);
	ibv_free_device_list(all);
	pd = ibv_alloc_pd(device);
	if (!pd)
		failed("protection domain", errno);
	m = memory(size);
	memset(m, sender ? 0 : MARK, size);
	mr = ibv_reg_mr(pd, m, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	pool_mr = ibv_reg_mr(pd, pool, POOL, 0);
	if (!mr || !pool_mr)
		failed("memory region", errno);
	credits = (volatile uint64_t(*)[WINDOW])m;
	slots = m;
	fcntl(device->async_fd, F_SETFL, O_NONBLOCK);
	context = mrc_create_context(device, NULL);
	if (!context || mrc_create_comp_channel(context, &channel))
		failed("context", errno);
	cq = mrc_create_cq(context, count * 2 * DEPTH > 65536 ? 65536 : count * 2 * DEPTH, NULL, channel, 0);
	if (!cq)
		failed("completion queue", errno);
}

static void transition(struct pair *p, int state)
{
	struct mrc_qp_attr m = { .timeout = 18, .retry = { 7, 3 } }; /* 268 ms; an end after 6 s */
	struct ibv_qp_attr a = { .qp_state = state,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_4096, .dest_qp_num = p->peer.qpn,
		.rq_psn = p->peer.psn, .sq_psn = p->me.psn,
		.ah_attr = { .is_global = 1, .port_num = 1 } };
	int mask = IBV_QP_STATE, more = 0, error;

	a.ah_attr.grh.dgid = p->peer.gid;
	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (state == IBV_QPS_RTR)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (state == IBV_QPS_RTS) {
		mask |= IBV_QP_SQ_PSN;
		more = MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT;
	}
	a.port_num = 1;
	error = mrc_modify_qp(p->qp, &a, mask, &m, more);
	if (error)
		failed("mrc_modify_qp", error);
}

static void tell(const void *b, size_t size)
{
	if (send(sock, b, size, MSG_NOSIGNAL) != (ssize_t)size)
		leave(GONE, "the peer has gone");
}

static void hear(void *b, size_t size)
{
	if (recv(sock, b, size, MSG_WAITALL) != (ssize_t)size)
		leave(GONE, "the peer has gone");
}

static void post_receive(struct pair *p)
{
	struct ibv_recv_wr wr = { 0 }, *bad;

	errno = mrc_post_recv(p->qp, &wr, &bad);
	if (errno)
		failed("mrc_post_recv", errno);
}

static void connect_all(bool sender, uint64_t seed)
{
	uint64_t numbers = (uint64_t)getpid() * 1000003 + seed;

	for (int i = 0; i < count; i++) {
		struct pair *p = &pairs[i];
		struct mrc_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .pd = pd,
			.cap = { .max_send_wr = DEPTH, .max_recv_wr = 2 * WINDOW, .max_send_sge = 1,
				 .max_recv_sge = 1, .max_inline_data = 8 } };

		p->draws = seed + (uint64_t)i;
		p->qp = mrc_create_qp(context, &init);
		if (!p->qp)
			failed("mrc_create_qp", errno);
		p->slots = slots + (size_t)i * WINDOW * stride;
		p->me = (struct end){ .rkey = mr->rkey, .psn = (uint32_t)(draw(&numbers) & 0xffffff),
			.addr = (uintptr_t)(sender ? (void *)credits[i] : p->slots) };
		if (mrc_get_qpn(p->qp, &p->me.qpn) || ibv_query_gid(device, 1, 0, &p->me.gid))
			failed("attributes", errno);
		tell(&p->me, sizeof(p->me));
		hear(&p->peer, sizeof(p->peer));
		transition(p, IBV_QPS_INIT);
		transition(p, IBV_QPS_RTR);
		transition(p, IBV_QPS_RTS);
		for (int j = 0; !sender && j < 2 * WINDOW; j++)
			post_receive(p);
	}
	tell("", 1);
	hear(&(char){ 0 }, 1);
}

/* Who has no request left hears of the end of the NIC by an asynchronous event alone. */
static void look_for_the_end(void)
{
	struct mrc_async_event event;

	while (!mrc_get_async_event(context, &event)) {
		if (event.event_type == IBV_EVENT_DEVICE_FATAL)
			leave(GONE, "the NIC has ended");
		mrc_ack_async_event(&event);
	}
	if (errno != EAGAIN)
		failed("mrc_get_async_event", errno);
}

/* Completions as they come; 0 after most milliseconds. */
static int collect(struct ibv_wc *wc, int room, int most)
{
	struct pollfd fd = { .events = POLLIN };
	struct mrc_cq *of;
	void *unused;
	int n = mrc_poll_cq(cq, room, wc);

	if (n)
		goto got;
	errno = mrc_req_notify_cq(cq, 0);
	if (errno)
		failed("mrc_req_notify_cq", errno);
	n = mrc_poll_cq(cq, room, wc);
	if (n)
		goto got;
	look_for_the_end();
	mrc_get_comp_channel_fd(channel, &fd.fd);
	if (poll(&fd, 1, most) > 0) {
		if (mrc_get_cq_event(channel, &of, &unused))
			failed("mrc_get_cq_event", errno);
		mrc_ack_cq_events(of, 1);
		n = mrc_poll_cq(cq, room, wc);
	}
got:
	if (n < 0)
		failed("mrc_poll_cq", errno);
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			leave(GONE, "completion: %s", ibv_wc_status_str(wc[i].status));
	return n;
}

static void post(struct pair *p, size_t from, size_t size, uint64_t to, int imm, bool signaled)
{
	struct ibv_sge sge = { (uintptr_t)pool + from, (uint32_t)size, pool_mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)(p - pairs), .sg_list = &sge, .num_sge = 1,
		.opcode = imm < 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl((uint32_t)imm), .send_flags = signaled ? IBV_SEND_SIGNALED : 0 }, *bad;

	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = p->peer.rkey;
	errno = mrc_post_send(p->qp, &wr, &bad);
	if (errno)
		failed("mrc_post_send", errno);
}

/* The child of a fork may not use what is the parent's. */
static void fork_once(void)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		leave(1, "fork: %s", strerror(errno));
	if (!child) {
		struct ibv_wc wc;
		struct ibv_recv_wr wr = { 0 }, *bad;
		int n = mrc_poll_cq(cq, 1, &wc);

		_exit(mrc_post_recv(pairs[0].qp, &wr, &bad) && errno == EPERM && n <= 0 ? 0 : 1);
	}
	if (waitpid(child, &status, 0) != child || status)
		leave(1, "the child of a fork: status %x", status);
}

/* Of the messages that a queue pair has begun, how many were compared. */
static uint64_t compared(struct pair *p)
{
	uint64_t n = p->begun < WINDOW ? 0 : p->begun - WINDOW;

	while (n < p->begun && credits[p - pairs][n % WINDOW] == n + 1)
		n++;
	return n;
}

static void send_for(double seconds)
{
	double end = now() + seconds, next_fork = now() + 1;
	uint64_t messages = 0, octets = 0;
	struct ibv_wc wc[64];
	bool idle;

	for (int left = count; left;) {
		bool over = now() > end;

		left = 0;
		idle = true;
		for (int i = 0; i < count; i++) {
			struct pair *p = &pairs[i];

			while (!over && p->begun - p->done < WINDOW &&
			       (p->begun < WINDOW ||
				credits[i][p->begun % WINDOW] == p->begun - WINDOW + 1)) {
				size_t from, size = next_of(p, &from);

				post(p, from, size, p->peer.addr + p->begun % WINDOW * stride,
				     (int)(p->begun & 0xffffff), true);
				p->begun++;
				messages++;
				octets += size;
				idle = false;
			}
			left += !over || p->done < p->begun || compared(p) < p->begun;
		}
		for (int i = 0, n = collect(wc, 64, idle ? 2 : 0); i < n; i++)
			pairs[wc[i].wr_id].done++;
		if (idle && recv(sock, &(char){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			leave(GONE, "the peer has gone"); /* it owes a credit, and no request of ours is left */
		if (now() > next_fork) {
			fork_once();
			next_fork += 1;
		}
		for (int i = 0; now() > end + 30 && i < count; i++) {
			struct pair *p = &pairs[i];

			if (p->done < p->begun || compared(p) < p->begun)
				leave(1, "queue pair %u: of %llu messages %llu are complete, %llu compared", p->me.qpn,
				      (unsigned long long)p->begun, (unsigned long long)p->done,
				      (unsigned long long)compared(p));
		}
	}
	printf("%llu messages, %llu octets\n", (unsigned long long)messages, (unsigned long long)octets);
}

static struct pair *of(uint32_t qpn)
{
	for (int i = 0; i < count; i++)
		if (pairs[i].me.qpn == qpn)
			return &pairs[i];
	leave(1, "completion of queue pair %u", qpn);
}

static void received(const struct ibv_wc *wc)
{
	struct pair *p;
	size_t from, size;
	uint8_t *slot;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	if (!(wc->opcode & IBV_WC_RECV))
		return;
	p = of(wc->qp_num);
	size = next_of(p, &from);
	slot = p->slots + p->done % WINDOW * stride;
	if (ntohl(wc->imm_data) != (p->done & 0xffffff) || wc->byte_len != size)
		leave(1, "message %llu: number %u, %u octets; want %zu", (unsigned long long)p->done,
		      ntohl(wc->imm_data), wc->byte_len, size);
	if (memcmp(slot, pool + from, size))
		leave(1, "message %llu: other octets than were sent", (unsigned long long)p->done);
	for (int i = 0; i < GUARD; i++)
		if (slot[size + (size_t)i] != MARK)
			leave(1, "message %llu: an octet beside it", (unsigned long long)p->done);
	memset(slot, MARK, size);
	post_receive(p);
	p->done++;
	sge = (struct ibv_sge){ (uintptr_t)&p->done, 8, 0 };
	wr = (struct ibv_send_wr){ .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE | (p->done % SIGNALS ? 0 : IBV_SEND_SIGNALED) };
	wr.wr.rdma.remote_addr = p->peer.addr + 8 * ((p->done - 1) % WINDOW);
	wr.wr.rdma.rkey = p->peer.rkey;
	errno = mrc_post_send(p->qp, &wr, &bad);
	if (errno)
		failed("credit", errno);
}

static void receive_for(double seconds)
{
	struct pollfd over = { .fd = sock, .events = POLLIN };
	double end = now() + seconds + 90;
	struct ibv_wc wc[64];

	while (poll(&over, 1, 0) == 0) {
		for (int i = 0, n = collect(wc, 64, 20); i < n; i++)
			received(&wc[i]);
		if (now() > end)
			leave(1, "the sender neither ends nor fails");
	}
}

/* WRITEs of one size, one completion for many. */
static void blast(uint64_t messages)
{
	struct pair *p = &pairs[0];
	struct ibv_wc wc[64];
	double began = now();
	uint64_t room = DEPTH - SIGNALS;

	while (p->done < messages) {
		while (p->begun < messages && p->begun - p->done < room) {
			bool last = p->begun + 1 == messages;

			p->begun++;
			post(p, 0, largest, p->peer.addr, last ? 0 : -1, last || p->begun % SIGNALS == 0);
		}
		for (int i = 0, n = collect(wc, 64, 1000); i < n; i++)
			p->done = p->done + SIGNALS < messages ? p->done + SIGNALS : messages;
	}
	printf("%.6f\n", now() - began);
}

static void run(const char *path, bool sender, double seconds, uint64_t last)
{
	uint64_t contents = 1;
	char ok;

	role = sender ? "sender" : "receiver";
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pool = memory(POOL);
	for (size_t i = 0; i < POOL; i += 8) {
		uint64_t v = draw(&contents);

		memcpy(pool + i, &v, 8);
	}
	open_nic(path, sender);
	connect_all(sender, last);
	if (seconds > 0) {
		sender ? send_for(seconds) : receive_for(seconds);
	} else if (sender) {
		blast(last);
	} else {
		struct ibv_wc wc;

		while (!collect(&wc, 1, 1000))
			if (recv(sock, &ok, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
				leave(GONE, "the peer has gone");
		if (memcmp(pairs[0].slots, pool, largest))
			leave(1, "other octets than were sent");
	}
	fflush(stdout);
	tell("", 1);
	hear(&ok, 1);
	for (int i = 0; i < count; i++)
		if (mrc_destroy_qp(pairs[i].qp))
			failed("mrc_destroy_qp", errno);
	if (mrc_destroy_cq(cq) || mrc_destroy_comp_channel(channel) || mrc_destroy_context(context) ||
	    ibv_dereg_mr(mr) || ibv_dereg_mr(pool_mr) || ibv_dealloc_pd(pd) || ibv_close_device(device))
		failed("the end", errno);
	exit(0);
}

int main(int argc, char **argv)
{
	int ends[2], status, worst = 0;
	pid_t children[2];

	if (argc != 7)
		leave(1, "load SOCKET1 SOCKET2 QPS LARGEST SECONDS SEED");
	count = atoi(argv[3]);
	largest = strtoul(argv[4], NULL, 0);
	stride = (largest + GUARD + 63) & ~(size_t)63;
	if (count < 1 || count > MAX_QPS || !largest || largest > POOL / 2)
		leave(1, "want 1 to %d queue pairs, 1 to %u octets", MAX_QPS, POOL / 2);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		leave(1, "socketpair");
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i] < 0)
			leave(1, "fork");
		if (!children[i]) {
			sock = ends[i];
			close(ends[1 - i]);
			run(argv[1 + i], i == 0, atof(argv[5]), strtoull(argv[6], NULL, 0));
		}
	}
	close(ends[0]);
	close(ends[1]);
	/* An error of its own outweighs that the other end has gone; a signal is somebody else's doing. */
	for (int i = 0; i < 2; i++) {
		if (waitpid(children[i], &status, 0) != children[i])
			leave(1, "waitpid");
		status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGKILL ? GONE : 1;
		if (status == 1 || !worst)
			worst = status;
	}
	return worst;
}

/*
 * Writes memory of one process into that of another over MRC, and checks that it has arrived.
 *
 *   write DEVICE OCTETS                serves: waits for a client, which writes OCTETS octets
 *   write DEVICE OCTETS SERVER ROUNDS  writes them ROUNDS times, the last time with immediate data
 *
 * Both ends tell each other by TCP what MRC leaves to programs (OCP MRC 1.0, section 10.1.2.2): address,
 * queue pair number, first PSN, and where the memory is. The status is 0 only if all has arrived.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <mrc.h>

enum { TCP_PORT = 18515, DEPTH = 64, PIECE = 256 * 1024, DONE = 0x600D };

/* What the ends tell each other. Both run on machines of one byte order. */
struct end {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey;
	uint64_t addr;
};

static void die(const char *what)
{
	fprintf(stderr, "write: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* meet returns a TCP connection: to a server, which may begin to listen within 10 s, or of the first
   client. */
static int meet(const char *server)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(TCP_PORT) };
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (s < 0)
		die("socket");
	if (server) {
		if (inet_pton(AF_INET, server, &to.sin_addr) != 1)
			die("address of the server");
		for (int tries = 100; connect(s, (struct sockaddr *)&to, sizeof to); tries--) {
			if (errno != ECONNREFUSED || !tries)
				die("connect");
			usleep(100000);
		}
		return s;
	}
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&to, sizeof to) || listen(s, 1))
		die("listen");
	printf("waiting\n");
	fflush(stdout);
	int c = accept(s, NULL, NULL);
	if (c < 0)
		die("accept");
	close(s);
	return c;
}

static void whole(ssize_t n, size_t want)
{
	if (n == (ssize_t)want)
		return;
	if (n >= 0)
		errno = ECONNRESET;
	die("the other end");
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **all = ibv_get_device_list(NULL);

	for (int i = 0; all && all[i]; i++) {
		if (strcmp(ibv_get_device_name(all[i]), name))
			continue;
		struct ibv_context *c = ibv_open_device(all[i]);
		ibv_free_device_list(all);
		return c;
	}
	if (all)
		errno = ENODEV;
	return NULL;
}

/* ready takes a queue pair through INIT and RTR to RTS. */
static void ready(struct mrc_qp *qp, const struct end *me, const struct end *peer)
{
	struct mrc_qp_attr none = { 0 };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

	errno = mrc_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS, &none, 0);
	if (errno)
		die("INIT");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qpn,
		.rq_psn = peer->psn, .ah_attr = { .is_global = 1, .port_num = 1 } };
	a.ah_attr.grh.dgid = peer->gid;
	errno = mrc_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		IBV_QP_RQ_PSN, &none, 0);
	if (errno)
		die("RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = me->psn };
	errno = mrc_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN, &none, 0);
	if (errno)
		die("RTS");
}

/* next waits for a completion by the channel, which is a file descriptor for poll and epoll too. */
static struct ibv_wc next(struct mrc_cq *cq, struct mrc_comp_channel *channel)
{
	struct ibv_wc wc;

	for (;;) {
		int n = mrc_poll_cq(cq, 1, &wc);
		if (n < 0)
			die("poll");
		if (n == 1)
			break;
		errno = mrc_req_notify_cq(cq, 0);
		if (errno)
			die("notify");
		n = mrc_poll_cq(cq, 1, &wc); /* what came before the queue was armed */
		if (n == 1)
			break;
		struct mrc_cq *of;
		void *context;
		if (mrc_get_cq_event(channel, &of, &context))
			die("event");
		mrc_ack_cq_events(of, 1);
	}
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "write: request %llu: %s\n", (unsigned long long)wc.wr_id,
			ibv_wc_status_str(wc.status));
		exit(2);
	}
	return wc;
}

/* send_all writes the memory once; the last piece has immediate data if it is the last round. */
static void send_all(struct mrc_qp *qp, struct mrc_cq *cq, struct mrc_comp_channel *channel,
	struct ibv_mr *mr, const struct end *peer, int last)
{
	size_t posted = 0, octets = mr->length;
	int flying = 0;

	while (posted < octets || flying > 0) {
		while (posted < octets && flying < DEPTH) {
			size_t n = octets - posted < PIECE ? octets - posted : PIECE;
			struct ibv_sge sge = { (uintptr_t)mr->addr + posted, n, mr->lkey };
			struct ibv_send_wr wr = { .wr_id = posted, .sg_list = &sge, .num_sge = 1,
				.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED }, *bad;
			wr.wr.rdma.remote_addr = peer->addr + posted;
			wr.wr.rdma.rkey = peer->rkey;
			posted += n;
			if (last && posted == octets) {
				wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
				wr.imm_data = htonl(DONE);
			}
			errno = mrc_post_send(qp, &wr, &bad);
			if (errno)
				die("post");
			flying++;
		}
		next(cq, channel);
		flying--;
	}
}

static unsigned char octet(size_t i) { return (unsigned char)(i * 31 + (i >> 8) * 7 + (i >> 16)); }

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: %s DEVICE OCTETS [SERVER ROUNDS]\n", argv[0]);
		return 64;
	}
	const char *server = argc == 5 ? argv[3] : NULL;
	size_t octets = strtoull(argv[2], NULL, 0);
	unsigned char *memory = octets ? calloc(1, octets) : NULL;
	if (!memory)
		die("memory");
	struct ibv_context *device = open_device(argv[1]);
	if (!device)
		die(argv[1]);
	struct ibv_pd *pd = ibv_alloc_pd(device);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, memory, octets,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) : NULL;
	if (!mr)
		die("memory region");
	struct mrc_context *mrc = mrc_create_context(device, NULL);
	struct mrc_comp_channel *channel;
	if (!mrc || mrc_create_comp_channel(mrc, &channel))
		die("MRC");
	struct mrc_cq *cq = mrc_create_cq(mrc, 2 * DEPTH, NULL, channel, 0);
	struct mrc_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .pd = pd,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct mrc_qp *qp = cq ? mrc_create_qp(mrc, &init) : NULL;
	if (!qp)
		die("queue pair");

	struct end me = { .psn = (uint32_t)getpid() & 0xFFFFFF, .rkey = mr->rkey, .addr = (uintptr_t)memory };
	struct end peer;
	if (mrc_get_qpn(qp, &me.qpn) || ibv_query_gid(device, 1, 0, &me.gid))
		die("attributes");
	int tcp = meet(server);
	whole(send(tcp, &me, sizeof me, 0), sizeof me);
	whole(recv(tcp, &peer, sizeof peer, MSG_WAITALL), sizeof peer);
	ready(qp, &me, &peer);

	char both = 'r';
	if (!server) {
		struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
		errno = mrc_post_recv(qp, &wr, &bad);
		if (errno)
			die("receive request");
	}
	whole(send(tcp, &both, 1, 0), 1); /* neither sends before the other can receive */
	whole(recv(tcp, &both, 1, MSG_WAITALL), 1);
	if (server) {
		int rounds = atoi(argv[4]);
		for (size_t i = 0; i < octets; i++)
			memory[i] = octet(i);
		for (int i = 0; i < rounds; i++) {
			send_all(qp, cq, channel, mr, &peer, i == rounds - 1);
			printf("round %d\n", i + 1);
			fflush(stdout);
		}
	} else {
		struct ibv_wc wc = next(cq, channel);
		if (!(wc.wc_flags & IBV_WC_WITH_IMM) || ntohl(wc.imm_data) != DONE) {
			fprintf(stderr, "write: immediate data %#x\n", ntohl(wc.imm_data));
			return 3;
		}
		for (size_t i = 0; i < octets; i++)
			if (memory[i] != octet(i)) {
				fprintf(stderr, "write: octet %zu is %d, not %d\n", i, memory[i], octet(i));
				return 3;
			}
		printf("%zu octets are right\n", octets);
	}
	whole(send(tcp, &both, 1, 0), 1); /* neither takes its memory away before the other has ended */
	recv(tcp, &both, 1, MSG_WAITALL);
	close(tcp);
	if (mrc_destroy_qp(qp) || mrc_destroy_cq(cq) || mrc_destroy_comp_channel(channel) ||
	    mrc_destroy_context(mrc) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(device))
		die("the end");
	free(memory);
	return 0;
}

/*
 * A program of MRC: app SCENARIO. It talks with a NIC of the test, and with the test: a line on
 * stdout asks for something, and a line on stdin is the answer. It ends with 0 if all is as expected.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mrc.h>
#include <mrc_ctl.h>

static void fail(int line, const char *what)
{
	printf("app.c:%d: %s, errno %d (%s)\n", line, what, errno, strerror(errno));
	fflush(stdout);
	_exit(1);
}

#define CHECK(condition)                         \
	do {                                     \
		if (!(condition))                \
			fail(__LINE__, #condition); \
	} while (0)
#define VALUE(call, value) CHECK((errno = 0, (call) == (value)) && ((value) == 0 || errno == (value)))
#define REFUSED(call, value) CHECK((errno = 0, (call) == -1) && errno == (value))
#define NONE(call, value) CHECK((errno = 0, (call) == NULL) && errno == (value))

static void ask(const char *what)
{
	char line[64];

	printf("%s\n", what);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
}

/* --- A program's objects --- */

static struct ibv_context *verbs;
static struct ibv_pd *pd;
static struct mrc_context *mrc;
static struct mrc_comp_channel *channel;
static struct mrc_cq *cq;
static struct mrc_qp *qp;
static struct ibv_mr *mr;
static uint8_t memory[4096];

static void open_verbs(void)
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);

	CHECK(list && n == 1 && list[0] && !list[1]);
	CHECK(!strcmp(ibv_get_device_name(list[0]), "fake0"));
	verbs = ibv_open_device(list[0]);
	CHECK(verbs);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(verbs);
	CHECK(pd);
}

static struct mrc_qp *make_qp(struct mrc_cq *with, uint32_t depth)
{
	struct mrc_qp_init_attr init = { .send_cq = with, .recv_cq = with, .pd = pd,
					 .cap = { .max_send_wr = depth, .max_recv_wr = depth,
						  .max_send_sge = 2, .max_recv_sge = 1,
						  .max_inline_data = 40 } };
	struct mrc_qp *q = mrc_create_qp(mrc, &init);

	CHECK(q);
	CHECK(init.cap.max_send_wr >= depth && init.cap.max_recv_wr >= depth);
	return q;
}

static void to_rts(struct mrc_qp *q, uint32_t dest)
{
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	VALUE(mrc_modify_qp(q, &v, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				   IBV_QP_ACCESS_FLAGS, NULL, 0), 0);
	v.qp_state = IBV_QPS_RTR;
	v.dest_qp_num = dest;
	v.path_mtu = IBV_MTU_4096;
	VALUE(mrc_modify_qp(q, &v, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				   IBV_QP_PATH_MTU, NULL, 0), 0);
	v.qp_state = IBV_QPS_RTS;
	v.timeout = 7;
	VALUE(mrc_modify_qp(q, &v, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY, NULL, 0), 0);
}

static void open_all(uint32_t cqe, uint32_t depth, uint32_t dest)
{
	open_verbs();
	mrc = mrc_create_context(verbs, NULL);
	CHECK(mrc);
	VALUE(mrc_create_comp_channel(mrc, &channel), 0);
	cq = mrc_create_cq(mrc, (int)cqe, &cqe, channel, 0);
	CHECK(cq);
	qp = make_qp(cq, depth);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr && mr->lkey && mr->rkey);
	if (dest)
		to_rts(qp, dest);
}

static void close_all(void)
{
	VALUE(mrc_destroy_qp(qp), 0);
	VALUE(mrc_destroy_cq(cq), 0);
	VALUE(mrc_destroy_comp_channel(channel), 0);
	VALUE(ibv_dereg_mr(mr), 0);
	VALUE(ibv_dealloc_pd(pd), 0);
	VALUE(mrc_destroy_context(mrc), 0);
	VALUE(ibv_close_device(verbs), 0);
}

static int post(struct mrc_qp *q, uint64_t id, int flags)
{
	struct ibv_sge s = { .addr = (uintptr_t)memory, .length = 8, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &s, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE, .send_flags = (unsigned)flags }, *bad = NULL;
	int error = mrc_post_send(q, &wr, &bad);

	CHECK(!error == !bad);
	return error;
}

static int receive(struct mrc_qp *q, uint64_t id)
{
	struct ibv_recv_wr wr = { .wr_id = id }, *bad = NULL;

	return mrc_post_recv(q, &wr, &bad);
}

/* Polls until count completions have come. */
static void reap(struct mrc_cq *from, struct ibv_wc *wc, int count)
{
	for (int n = 0; n < count;) {
		int got = mrc_poll_cq(from, count - n, wc + n);

		CHECK(got >= 0);
		n += got;
	}
}

/* --- Scenarios --- */

/* All goes well: what is posted completes, an event comes by the channel, and nothing is left. */
static void well(void)
{
	struct ibv_device_attr d;
	struct ibv_port_attr p;
	union ibv_gid gid;
	struct ibv_gid_entry entries[4];
	struct mrc_device_attr a;
	struct mrc_cq *which;
	struct ibv_wc wc[8];
	struct ibv_cq *plain;
	__be16 pkey;
	void *context;
	int supported, fd;
	uint32_t v[4];

	open_all(16, 8, 1);
	VALUE(ibv_query_device(verbs, &d), 0);
	CHECK(d.phys_port_cnt == 2 && d.max_cqe == 4096 && d.max_sge == 8);
	CHECK(ibv_query_port(verbs, 1, &p) == 0 && p.state == IBV_PORT_ACTIVE &&
	      p.link_layer == IBV_LINK_LAYER_ETHERNET && p.active_speed == 32 && p.active_width == 2 &&
	      p.gid_tbl_len == 1);
	CHECK(ibv_query_port(verbs, 3, &p) == EINVAL);
	CHECK(ibv_query_gid(verbs, 2, 0, &gid) == 0 && gid.raw[0] == 0x20 && gid.raw[15] == 1);
	REFUSED(ibv_query_gid(verbs, 1, 1, &gid), ENODATA);
	CHECK(ibv_query_gid_ex(verbs, 1, 0, &entries[0], 0) == 0 &&
	      entries[0].gid_type == IBV_GID_TYPE_ROCE_V2);
	CHECK(ibv_query_gid_table(verbs, entries, 4, 0) == 2 && entries[1].port_num == 2);
	CHECK(ibv_query_pkey(verbs, 1, 0, &pkey) == 0 && pkey == 0xffff);
	CHECK(ibv_get_pkey_index(verbs, 1, pkey) == 0);

	CHECK(mrc_query_device_ex(verbs, mrc, &a, &supported) == 0 && supported &&
	      a.wimm_attr.max_wimm == 32 && a.mpr_attr.mpr_resolution == 1 &&
	      a.cap == (MRC_DEVICE_CAP_TRIM_NACK | MRC_DEVICE_CAP_DYNAMIC_MPR | MRC_DEVICE_CAP_SVC_TIME));
	mrc_query_version(&v[0], &v[1], &v[2], &v[3]);
	CHECK(v[0] == MRC_API_CURRENT_VERSION && v[1] == 0 && v[2] == MRC_VENDOR_API_CURRENT_VERSION);

	VALUE(mrc_req_notify_cq(cq, 0), 0);
	VALUE(post(qp, 7, IBV_SEND_SIGNALED), 0);
	VALUE(mrc_get_comp_channel_fd(channel, &fd), 0);
	CHECK(mrc_get_cq_event(channel, &which, &context) == 0 && which == cq);
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	REFUSED(mrc_get_cq_event(channel, &which, &context), EAGAIN);
	reap(cq, wc, 1);
	CHECK(wc[0].wr_id == 7 && wc[0].status == IBV_WC_SUCCESS && wc[0].opcode == IBV_WC_RDMA_WRITE);
	CHECK(mrc_poll_cq(cq, 8, wc) == 0);

	/* Of the solicited: nothing for a plain write, one for another. */
	VALUE(mrc_req_notify_cq(cq, 1), 0);
	VALUE(post(qp, 8, IBV_SEND_SIGNALED), 0);
	reap(cq, wc, 1);
	REFUSED(mrc_get_cq_event(channel, &which, &context), EAGAIN);
	VALUE(post(qp, 9, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0);
	reap(cq, wc, 1);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	CHECK(mrc_get_cq_event(channel, &which, &context) == 0 && which == cq);
	mrc_ack_cq_events(cq, 2);

	/* Many rounds of the rings. */
	for (int i = 0; i < 1000; i++) {
		VALUE(receive(qp, 2), 0);
		VALUE(post(qp, 1, i % 3 ? IBV_SEND_SIGNALED : IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
		reap(cq, wc, 2);
		CHECK(wc[0].wr_id + wc[1].wr_id == 3 &&
		      (wc[0].wr_id == 1 ? wc[1] : wc[0]).opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	}

	plain = ibv_create_cq(verbs, 10, NULL, NULL, 0);
	CHECK(plain && plain->cqe == 16);
	CHECK(ibv_poll_cq(plain, 4, wc) == 0 && ibv_req_notify_cq(plain, 0) == 0);
	VALUE(ibv_destroy_cq(plain), 0);
	CHECK(!strcmp(ibv_wc_status_str(IBV_WC_SUCCESS), "success") && ibv_event_type_str(99) &&
	      ibv_port_state_str(99) && ibv_node_type_str(-1));
	close_all();
}

/* What is wrong is refused, in the way of the verbs. */
static void errors(void)
{
	struct ibv_sge s[3] = { { 0 } };
	struct ibv_send_wr wr[3] = { { 0 } }, *bad;
	struct ibv_recv_wr rr[2] = { { 0 } }, *bad_recv;
	struct ibv_qp_attr v = { 0 };
	struct mrc_qp_attr m = { 0 };
	struct mrc_qp_init_attr init = { 0 }, got;
	struct mrc_qp_hint_init_attr hint_init = { .attr = { .num_send_peers = 4 } };
	struct mrc_qp_hint_attr hint_attr = { 0 };
	struct mrc_context_attr future = { .mrc_api_version_used = MRC_API_VER(2, 0, 0) };
	struct mrc_context_attr odd = { .mrc_api_version_used = 1 };
	struct mrc_context *second;
	struct mrc_qp_hint *hint;
	struct ibv_wc wc;
	int i, fd;
	uint32_t n;

	open_all(16, 4, 0);
	NONE(mrc_create_context(NULL, NULL), EINVAL);
	NONE(mrc_create_context(verbs, &future), EINVAL);
	second = mrc_create_context(verbs, &odd);
	CHECK(second);
	CHECK(mrc_create_cq(second, 4, NULL, NULL, 0)); /* goes with its context */
	VALUE(mrc_destroy_context(second), 0);
	REFUSED(mrc_destroy_context(NULL), EINVAL);
	REFUSED(mrc_query_device(NULL, NULL, NULL), EINVAL);

	NONE(mrc_create_cq(mrc, 0, NULL, NULL, 0), EINVAL);
	NONE(mrc_create_cq(mrc, 4097, NULL, NULL, 0), EINVAL);
	NONE(mrc_create_cq(mrc, 1, NULL, NULL, 1), EINVAL);
	NONE(mrc_create_cq(NULL, 1, NULL, NULL, 0), EINVAL);
	VALUE(mrc_destroy_cq(cq), EBUSY);
	VALUE(mrc_destroy_cq(NULL), EINVAL);
	VALUE(mrc_destroy_comp_channel(channel), EBUSY);
	VALUE(mrc_create_comp_channel(mrc, NULL), EINVAL);
	REFUSED(mrc_get_comp_channel_fd(NULL, &fd), EINVAL);
	REFUSED(mrc_poll_cq(NULL, 1, &wc), EINVAL);
	REFUSED(mrc_poll_cq(cq, -1, &wc), EINVAL);
	CHECK(mrc_poll_cq(cq, 0, NULL) == 0);
	VALUE(mrc_req_notify_cq(NULL, 0), EINVAL);
	VALUE(ibv_dealloc_pd(pd), EBUSY);

	NONE(mrc_create_qp(mrc, &init), EINVAL);
	init = (struct mrc_qp_init_attr){ .send_cq = cq, .recv_cq = cq, .pd = pd };
	init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	NONE(mrc_create_qp(mrc, &init), EOPNOTSUPP);
	init.send_ops_flags = 0;
	init.protocol_version = 2;
	NONE(mrc_create_qp(mrc, &init), EOPNOTSUPP);
	init.protocol_version = 1;
	init.cap.max_send_sge = 33;
	NONE(mrc_create_qp(mrc, &init), EINVAL);
	REFUSED(mrc_get_qpn(NULL, &n), EINVAL);
	CHECK(mrc_get_qpn(qp, &n) == 0 && n == 0x100);

	/* States */
	s[0] = (struct ibv_sge){ .addr = (uintptr_t)memory, .length = 8, .lkey = mr->lkey };
	wr[0] = (struct ibv_send_wr){ .sg_list = s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	VALUE(mrc_post_send(qp, wr, &bad), EINVAL);
	CHECK(bad == wr);
	REFUSED(mrc_post_recv(qp, rr, &bad_recv), EINVAL);
	CHECK(bad_recv == rr);

	/* Attributes */
	VALUE(mrc_modify_qp(qp, NULL, IBV_QP_STATE, NULL, 0), EINVAL);
	VALUE(mrc_modify_qp(qp, &v, IBV_QP_STATE, NULL, MRC_QP_TIMEOUT), EINVAL);
	VALUE(mrc_modify_qp(NULL, &v, IBV_QP_STATE, NULL, 0), EINVAL);
	for (i = 0; i < 32; i++) {
		const int never = IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE | IBV_QP_CAP;

		if ((1u << i) & (unsigned)never || i > 20)
			VALUE(mrc_modify_qp(qp, &v, (int)(1u << i), &m, 0), EINVAL);
		if (i > 9 && i < 31)
			VALUE(mrc_modify_qp(qp, &v, 0, &m, (int)(1u << i)), EINVAL);
	}
	to_rts(qp, 2);
	m = (struct mrc_qp_attr){ .mpr = { 3, 4 }, .wimm = { 5, 6 }, .timeout = 7,
				  .profile = { 8, 9 }, .retry = { 1, 2 }, .cap = 2 };
	m.vendor_cfg[127] = 77;
	hint = mrc_create_qp_hint(mrc, &hint_init);
	CHECK(hint);
	m.qp_hint = hint;
	v.qp_state = IBV_QPS_RTS;
	v.dest_qp_num = 2;
	v.ah_attr.grh.traffic_class = 9;
	v.ah_attr.grh.dgid.raw[3] = 6;
	VALUE(mrc_modify_qp(qp, &v, IBV_QP_STATE, &m, (int)0x800003ffu), 0);
	memset(&v, 0, sizeof(v));
	memset(&m, 0, sizeof(m));
	VALUE(mrc_query_qp(qp, &v, IBV_QP_STATE, &m, (int)0x800003ffu, &got), 0);
	CHECK(v.qp_state == IBV_QPS_RTS && v.ah_attr.grh.traffic_class == 9 &&
	      v.ah_attr.grh.dgid.raw[3] == 6 && v.cap.max_send_sge == 2);
	CHECK(m.mpr.mpr == 3 && m.mpr.mpr_dest == 4 && m.wimm.max_wimm == 5 &&
	      m.wimm.max_wimm_dest == 6 && m.timeout == 7 && m.profile.ev_profile_id == 8 &&
	      m.profile.cc_profile_id == 9 && m.retry.linear_cnt == 1 && m.retry.exp_cnt == 2 &&
	      m.cap == 2 && m.vendor_cfg[127] == 77 && m.qp_hint == hint);
	CHECK(got.send_cq == cq && got.pd == pd && got.cap.max_inline_data == 40);

	/* Hints */
	REFUSED(mrc_destroy_qp_hint(hint), EBUSY);
	CHECK(mrc_query_qp_hint(hint, &hint_attr, MRC_QP_HINT_NUM_SEND_PEERS) == 0 &&
	      hint_attr.num_send_peers == 4);
	hint_attr.num_send_peers = -1;
	REFUSED(mrc_modify_qp_hint(hint, &hint_attr, MRC_QP_HINT_NUM_SEND_PEERS), EINVAL);
	REFUSED(mrc_modify_qp_hint(hint, &hint_attr, 8), EINVAL);
	hint_attr.num_send_peers = 5;
	VALUE(mrc_modify_qp_hint(hint, &hint_attr, MRC_QP_HINT_NUM_SEND_PEERS), 0);
	m.qp_hint = NULL;
	VALUE(mrc_modify_qp(qp, NULL, 0, &m, MRC_QP_HINT), 0);
	VALUE(mrc_destroy_qp_hint(hint), 0);
	NONE(mrc_create_qp_hint(mrc, NULL), EINVAL);

	/* A chain whose second is wrong, in each of many ways: the first is posted. */
	for (i = 0; i < 7; i++) {
		wr[0].next = &wr[1];
		wr[1] = wr[0];
		wr[1].next = &wr[2];
		wr[2] = wr[0];
		wr[2].next = NULL;
		memset(s, 0, sizeof(s));
		switch (i) {
		case 0:
			wr[1].opcode = IBV_WR_SEND;
			break;
		case 1:
			wr[1].num_sge = 3;
			break;
		case 2:
			wr[1].num_sge = -1;
			break;
		case 3:
			wr[1].send_flags = IBV_SEND_IP_CSUM;
			break;
		case 4:
			wr[1].sg_list = NULL;
			break;
		case 5:
			wr[1].send_flags = IBV_SEND_INLINE;
			wr[1].num_sge = 2;
			s[1].length = 41;
			break;
		case 6:
			wr[1].num_sge = 2;
			s[1].length = 1u << 31;
			break;
		}
		qp = i ? qp : make_qp(cq, 4);
		VALUE(mrc_destroy_qp(qp), 0);
		qp = make_qp(cq, 4);
		to_rts(qp, 2);
		VALUE(mrc_post_send(qp, wr, &bad), EINVAL);
		CHECK(bad == &wr[1]);
		VALUE(post(qp, 1, 0), 0);
		VALUE(post(qp, 1, 0), 0);
		VALUE(post(qp, 1, 0), 0);
		VALUE(post(qp, 1, 0), ENOMEM);
	}
	rr[0].next = &rr[1];
	rr[1].num_sge = 2;
	REFUSED(mrc_post_recv(qp, rr, &bad_recv), EINVAL);
	CHECK(bad_recv == &rr[1]);
	for (i = 0; i < 3; i++)
		VALUE(receive(qp, 1), 0);
	REFUSED(receive(qp, 1), ENOMEM);

	/* Verbs */
	NONE(ibv_create_qp(pd, NULL), EOPNOTSUPP);
	NONE(ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0), EOPNOTSUPP);
	NONE(ibv_reg_mr(pd, memory, 1, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	NONE(ibv_reg_mr(pd, memory, 1, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
	NONE(ibv_reg_mr(pd, memory, SIZE_MAX, 0), EINVAL);
	NONE(ibv_alloc_mw(pd, IBV_MW_TYPE_1), EOPNOTSUPP);
	NONE(ibv_create_srq(pd, NULL), EOPNOTSUPP);
	CHECK(ibv_fork_init() == 0);
	NONE(ibv_create_cq(verbs, 0, NULL, NULL, 0), EINVAL);
	/* one that is left over goes with the context */
	VALUE(mrc_destroy_context(mrc), 0);
	VALUE(ibv_dereg_mr(mr), 0);
	VALUE(ibv_dealloc_pd(pd), 0);
	VALUE(ibv_close_device(verbs), 0);
}

/* A completion queue without room is in error, and an event tells of it. */
static void overflow(void)
{
	struct mrc_async_event event;
	struct ibv_wc wc[8];

	open_all(4, 8, 2);
	for (int i = 0; i < 6; i++)
		VALUE(post(qp, (uint64_t)i, IBV_SEND_SIGNALED), 0);
	to_rts(qp, 1);
	CHECK(mrc_get_async_event(mrc, &event) == 0 && event.event_type == IBV_EVENT_CQ_ERR &&
	      event.element.cq == cq);
	reap(cq, wc, 4);
	CHECK(wc[3].wr_id == 3);
	REFUSED(mrc_poll_cq(cq, 1, wc), EOVERFLOW);
	mrc_ack_async_event(&event);
	close_all();
}

/* --- The NIC's end --- */

static void *wait_channel(void *arg)
{
	struct mrc_cq *which;
	void *context;
	(void)arg;

	CHECK(mrc_get_cq_event(channel, &which, &context) == 0 && which == cq);
	mrc_ack_cq_events(which, 1);
	REFUSED(mrc_get_cq_event(channel, &which, &context), EIO);
	return NULL;
}

static void *wait_async(void *arg)
{
	struct mrc_async_event e;
	(void)arg;

	CHECK(mrc_get_async_event(mrc, &e) == 0 && e.event_type == IBV_EVENT_DEVICE_FATAL);
	mrc_ack_async_event(&e);
	REFUSED(mrc_get_async_event(mrc, &e), EIO);
	return NULL;
}

static void *wait_verbs(void *arg)
{
	struct ibv_async_event e;
	(void)arg;

	CHECK(ibv_get_async_event(verbs, &e) == 0 && e.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&e);
	REFUSED(ibv_get_async_event(verbs, &e), EIO);
	return NULL;
}

/* Polls all that is outstanding: each of the work requests once, flushed. */
static void expect_flushed(uint64_t least, uint64_t most)
{
	uint64_t seen = 0, want = 0;
	int n;

	for (;;) {
		struct ibv_wc wc[2];

		errno = 0;
		n = mrc_poll_cq(cq, 2, wc);
		if (n < 0)
			break;
		for (int i = 0; i < n; i++) {
			if (wc[i].wr_id < least) {
				CHECK(wc[i].status == IBV_WC_SUCCESS); /* from before the end */
				continue;
			}
			CHECK(wc[i].status == IBV_WC_WR_FLUSH_ERR && !(seen & 1ull << wc[i].wr_id));
			seen |= 1ull << wc[i].wr_id;
		}
	}
	CHECK(n == -1 && errno == EIO);
	for (uint64_t id = least; id <= most; id++)
		want |= 1ull << id;
	CHECK(seen == want);
}

static void death(void)
{
	pthread_t threads[3];
	struct mrc_device_attr a;
	int supported;

	open_all(16, 8, 2);
	VALUE(mrc_req_notify_cq(cq, 0), 0);
	for (uint64_t i = 1; i <= 5; i++)
		VALUE(post(qp, i, i % 2 ? IBV_SEND_SIGNALED : 0), 0);
	for (uint64_t i = 6; i <= 8; i++)
		VALUE(receive(qp, i), 0);
	CHECK(!pthread_create(&threads[0], NULL, wait_channel, NULL) &&
	      !pthread_create(&threads[1], NULL, wait_async, NULL) &&
	      !pthread_create(&threads[2], NULL, wait_verbs, NULL));
	ask("kill");
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(threads[i], NULL));
	VALUE(post(qp, 9, 0), EIO);
	REFUSED(receive(qp, 9), EIO);
	expect_flushed(1, 8);
	VALUE(mrc_req_notify_cq(cq, 0), EIO);
	REFUSED(mrc_query_device(verbs, &a, &supported), EIO);
	NONE(mrc_create_context(verbs, NULL), EIO);
	NONE(mrc_create_cq(mrc, 4, NULL, NULL, 0), EIO);
	NONE(ibv_reg_mr(pd, memory, 8, 0), EIO);
	close_all();
}

/* The NIC has ended between a completion and moving its tail: nothing completes twice. */
static void untailed(void)
{
	struct mrc_qp *second;

	open_all(16, 8, 3);
	second = make_qp(cq, 8);
	to_rts(second, 2);
	VALUE(post(qp, 0, IBV_SEND_SIGNALED), 0);
	for (uint64_t i = 1; i <= 3; i++)
		VALUE(post(qp, i, IBV_SEND_SIGNALED), 0);
	VALUE(post(second, 4, IBV_SEND_SIGNALED), 0);
	to_rts(qp, 3);
	ask("kill");
	expect_flushed(1, 4);
	VALUE(mrc_destroy_qp(second), 0);
	close_all();
}

/* The NIC has ended between moving its tail and completions: those that were signaled complete. */
static void tailed(void)
{
	open_all(16, 8, 2);
	VALUE(post(qp, 0, IBV_SEND_SIGNALED), 0);
	VALUE(post(qp, 0, 0), 0);
	VALUE(post(qp, 1, IBV_SEND_SIGNALED), 0);
	VALUE(post(qp, 0, 0), 0);
	VALUE(post(qp, 2, 0), 0);
	to_rts(qp, 4);
	ask("kill");
	expect_flushed(1, 2);
	close_all();
}

/* What RESET has dropped does not complete when the NIC ends. */
static void reset(void)
{
	struct ibv_qp_attr v = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;

	open_all(16, 8, 1);
	VALUE(post(qp, 0, IBV_SEND_SIGNALED), 0);
	reap(cq, &wc, 1);
	to_rts(qp, 2);
	VALUE(post(qp, 0, IBV_SEND_SIGNALED), 0);
	VALUE(mrc_modify_qp(qp, &v, IBV_QP_STATE, NULL, 0), 0);
	VALUE(post(qp, 0, 0), EINVAL);
	to_rts(qp, 2);
	VALUE(post(qp, 1, IBV_SEND_SIGNALED), 0);
	ask("kill");
	expect_flushed(1, 1);
	close_all();
}

/* Programs that only poll notice within a few milliseconds. */
static void polls(void)
{
	struct ibv_wc wc;
	int n;

	open_all(16, 8, 2);
	VALUE(post(qp, 1, 0), 0);
	CHECK(mrc_poll_cq(cq, 1, &wc) == 0);
	ask("kill");
	while ((n = mrc_poll_cq(cq, 1, &wc)) == 0)
		;
	CHECK(n == 1 && wc.wr_id == 1 && wc.status == IBV_WC_WR_FLUSH_ERR);
	REFUSED(mrc_poll_cq(cq, 1, &wc), EIO);
	close_all();
}

/* --- fork --- */

static void forks(void)
{
	struct mrc_async_event event;
	struct mrc_device_attr a;
	struct ibv_device_attr d;
	struct mrc_cq *which;
	struct ibv_wc wc;
	void *context;
	int supported, status;
	pid_t child;

	open_all(16, 8, 2);
	VALUE(post(qp, 1, IBV_SEND_SIGNALED), 0);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		VALUE(post(qp, 2, 0), EPERM);
		REFUSED(receive(qp, 2), EPERM);
		REFUSED(mrc_poll_cq(cq, 1, &wc), EPERM);
		VALUE(mrc_req_notify_cq(cq, 0), EPERM);
		REFUSED(mrc_get_cq_event(channel, &which, &context), EPERM);
		REFUSED(mrc_get_async_event(mrc, &event), EPERM);
		REFUSED(mrc_query_device(verbs, &a, &supported), EPERM);
		VALUE(ibv_query_device(verbs, &d), EPERM);
		NONE(mrc_create_cq(mrc, 4, NULL, NULL, 0), EPERM);
		NONE(mrc_create_context(verbs, NULL), EPERM);
		NONE(ibv_reg_mr(pd, memory, 8, 0), EPERM);
		VALUE(mrc_destroy_qp(qp), EPERM);
		VALUE(mrc_destroy_cq(cq), EPERM);
		VALUE(mrc_destroy_comp_channel(channel), EPERM);
		REFUSED(mrc_destroy_context(mrc), EPERM);
		VALUE(ibv_dereg_mr(mr), EPERM);
		VALUE(ibv_dealloc_pd(pd), EPERM);
		REFUSED(ibv_close_device(verbs), EPERM);
		/* A child may open its own. */
		open_all(16, 8, 1);
		VALUE(post(qp, 3, IBV_SEND_SIGNALED), 0);
		reap(cq, &wc, 1);
		close_all();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	to_rts(qp, 1);
	reap(cq, &wc, 1);
	CHECK(wc.wr_id == 1);
	close_all();
}

/* The parent ends while a child lives: the NIC sees it. */
static void orphan(void)
{
	pid_t child;

	open_all(16, 8, 2);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		char c;

		if (read(0, &c, 1) < 0) /* until the test has seen it */
			_exit(1);
		_exit(0);
	}
	_exit(0);
}

/* --- Threads --- */

#define POSTERS 4
#define EACH 5000

static _Atomic uint32_t posted, done;
static _Atomic uint8_t counts[POSTERS][EACH];

static void *poster(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < EACH; i++) {
		int error;

		/* The completion queue has room for what is under way. */
		while (posted - done > 1000)
			sched_yield();
		posted++;
		while ((error = post(qp, thread << 32 | i, IBV_SEND_SIGNALED)) == ENOMEM)
			sched_yield();
		CHECK(!error);
	}
	return NULL;
}

static void *poller(void *arg)
{
	struct ibv_wc wc[7];
	(void)arg;

	while (done < POSTERS * EACH) {
		int n = mrc_poll_cq(cq, 7, wc);

		CHECK(n >= 0);
		for (int i = 0; i < n; i++) {
			CHECK(wc[i].status == IBV_WC_SUCCESS);
			counts[wc[i].wr_id >> 32][wc[i].wr_id & 0xffffffff]++;
		}
		done += (uint32_t)n;
		if (!n)
			sched_yield();
	}
	return NULL;
}

static void *maker(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		struct mrc_cq *c = mrc_create_cq(mrc, 8, NULL, channel, 0);
		struct mrc_qp *q;

		CHECK(c);
		q = make_qp(c, 4);
		to_rts(q, 2);
		VALUE(mrc_destroy_qp(q), 0);
		VALUE(mrc_destroy_cq(c), 0);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[POSTERS + 4];

	open_all(2048, 64, 1);
	for (int i = 0; i < POSTERS; i++)
		CHECK(!pthread_create(&t[i], NULL, poster, (void *)(uintptr_t)i));
	for (int i = 0; i < 2; i++) {
		CHECK(!pthread_create(&t[POSTERS + i], NULL, poller, NULL));
		CHECK(!pthread_create(&t[POSTERS + 2 + i], NULL, maker, NULL));
	}
	for (int i = 0; i < POSTERS + 4; i++)
		CHECK(!pthread_join(t[i], NULL));
	for (int i = 0; i < POSTERS; i++)
		for (int k = 0; k < EACH; k++)
			CHECK(counts[i][k] == 1);
	close_all();
}

/* --- Control --- */

#define PATHS 1100

static void control(void)
{
	static struct mrc_ctl_ev_op_entry paths[PATHS], back[PATHS];
	struct mrc_ctl_ev_field fields[2] = { { 16, 1, 2, 3, 4 }, { 8, 5, 6, 7, 8 } }, fields_back[2];
	struct mrc_ctl_ev_fmt_field widths[2] = { { 20 }, { 12 } }, widths_back[2] = { { 0 } };
	struct mrc_ctl_ev_fmt_profile_attr f = { .profile_state = MRC_CTL_PROFILE_OFFLINE };
	struct mrc_ctl_ev_profile_attr e = { .profile_state = MRC_CTL_PROFILE_ONLINE };
	struct mrc_ctl_cc_nscc_cfg nscc = { .base_rtt = 12000, .fi = 0.25f, .target_delay = 9 };
	struct mrc_ctl_cc_profile_attr c = { .algorithm = "uet-1.0-nscc", .cc_config = &nscc };
	struct mrc_ctl_port_attr port = { 0 };
	struct mrc_ctl_device_attr d;
	struct mrc_ctl_ep_req req[3] = { { .req_id = 1 }, { .req_id = 13 }, { .req_id = 2 } };
	struct mrc_ctl_ep_rsp rsp[3];
	int supported, n;

	open_all(16, 8, 0);
	CHECK(mrc_ctl_query_device_ex(verbs, mrc, &d, &supported) == 0 && supported &&
	      d.mrc_ctl_protocol_version == 1 && d.ev.ev_op_max_entries == 11 &&
	      d.cc.cc_max_profiles == 12 && d.phy_port_mask == 13 && d.opt_attr == 14 &&
	      !strcmp(d.cc.algorithms[0], "uet-1.0-nscc") && !d.cc.algorithms[1]);
	CHECK(mrc_ctl_query_device(verbs, &d) == 0);
	CHECK(mrc_ctl_query_port(mrc, 2, &port, MRC_CTL_PORT_ADMIN_STATE) == 0 &&
	      port.port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED);
	REFUSED(mrc_ctl_query_port(mrc, 3, &port, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
	REFUSED(mrc_ctl_modify_port(mrc, 2, &port, MRC_CTL_PORT_ADMIN_STATE), EPERM);
	port.port_admin_state = MRC_CTL_PORT_ADMIN_DISABLED;
	VALUE(mrc_ctl_modify_port(mrc, 2, &port, MRC_CTL_PORT_ADMIN_STATE), 0);
	REFUSED(mrc_ctl_modify_port(mrc, 2, &port, 2), EINVAL);

	f.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
	f.ev_fmt_op.fmt_fields = widths;
	f.ev_fmt_op.fmt_field_count = 2;
	VALUE(mrc_ctl_modify_ev_fmt_profile(mrc, 5, &f, MRC_CTL_EV_FMT_PROFILE_STATE |
		MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP), 0);
	f = (struct mrc_ctl_ev_fmt_profile_attr){ .ev_fmt_op = { MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
								 widths_back, 1 } };
	REFUSED(mrc_ctl_query_ev_fmt_profile(mrc, 5, &f, MRC_CTL_EV_FMT_PROFILE_OP), E2BIG);
	CHECK(f.ev_fmt_op.fmt_field_count == 2);
	VALUE(mrc_ctl_query_ev_fmt_profile(mrc, 5, &f, MRC_CTL_EV_FMT_PROFILE_OP |
		MRC_CTL_EV_FMT_PROFILE_STATE), 0);
	CHECK(f.profile_state == MRC_CTL_PROFILE_OFFLINE && widths_back[1].width == 12);
	f.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
	REFUSED(mrc_ctl_query_ev_fmt_profile(mrc, 5, &f, MRC_CTL_EV_FMT_PROFILE_OP), EINVAL);
	f.ev_fmt_op.fmt_field_count = 33;
	REFUSED(mrc_ctl_modify_ev_fmt_profile(mrc, 5, &f, MRC_CTL_EV_FMT_PROFILE_OP), E2BIG);
	REFUSED(mrc_ctl_query_ev_fmt_profile(mrc, 6, &f, MRC_CTL_EV_FMT_PROFILE_STATE), EINVAL);

	/* A list that takes three messages; the profile goes ONLINE with the last. */
	for (int i = 0; i < PATHS; i++) {
		paths[i].ev.val[0] = (uint8_t)i;
		paths[i].ev.val[1] = (uint8_t)(i >> 8);
		paths[i].ev.port = 1;
		paths[i].state = MRC_CTL_EV_DENIED;
	}
	e.ev_count = PATHS;
	e.ev_op.entries = paths;
	e.ev_op.entry_count = PATHS;
	VALUE(mrc_ctl_modify_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_COUNT |
		MRC_CTL_EV_PROFILE_EV_OP), 0);
	e = (struct mrc_ctl_ev_profile_attr){ .ev_op = { MRC_CTL_EV_OP_QUERY_EV_ARRAY, back, PATHS - 1 } };
	REFUSED(mrc_ctl_query_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_EV_OP), E2BIG);
	CHECK(e.ev_op.entry_count == PATHS);
	VALUE(mrc_ctl_query_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_COUNT |
		MRC_CTL_EV_PROFILE_STATE), 0);
	CHECK(e.profile_state == MRC_CTL_PROFILE_ONLINE && e.ev_count == PATHS);
	for (int i = 0; i < PATHS; i++)
		CHECK(!memcmp(&back[i].ev, &paths[i].ev, sizeof(back[i].ev)) &&
		      back[i].state == MRC_CTL_EV_DENIED);
	e.ev_op.op = MRC_CTL_EV_OP_QUERY_EV_STATE;
	VALUE(mrc_ctl_modify_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_EV_OP), 0);
	CHECK(back[PATHS - 1].state == MRC_CTL_EV_DENIED);
	memset(paths[600].ev.val, 0xff, 4);
	memset(paths[512].ev.val, 0xff, 4);
	e.ev_op = (__typeof__(e.ev_op)){ MRC_CTL_EV_OP_MODIFY_EV_STATE, paths, PATHS };
	REFUSED(mrc_ctl_modify_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_EV_OP), ENOENT);
	REFUSED(mrc_ctl_query_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_EV_OP), EINVAL);
	REFUSED(mrc_ctl_modify_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_EV_OP |
		MRC_CTL_EV_PROFILE_EV_FIELDS_OP), EINVAL);
	e.ev_fields_op = (__typeof__(e.ev_fields_op)){ MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, 2 };
	VALUE(mrc_ctl_modify_ev_profile(mrc, 7, &e, MRC_CTL_EV_PROFILE_EV_FIELDS_OP), 0);
	e.ev_fields_op = (__typeof__(e.ev_fields_op)){ MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, fields_back, 0 };
	REFUSED(mrc_ctl_query_ev_profile(mrc, 7, &e, MRC_CTL_EV_PROFILE_EV_FIELDS_OP), E2BIG);
	VALUE(mrc_ctl_query_ev_profile(mrc, 7, &e, MRC_CTL_EV_PROFILE_EV_FIELDS_OP), 0);
	CHECK(!memcmp(fields, fields_back, sizeof(fields)));

	VALUE(mrc_ctl_modify_cc_profile(mrc, 8, &c, MRC_CTL_CC_PROFILE_ALGORITHM |
		MRC_CTL_CC_PROFILE_CONFIG), 0);
	c = (struct mrc_ctl_cc_profile_attr){ 0 };
	VALUE(mrc_ctl_query_cc_profile(mrc, 8, &c, MRC_CTL_CC_PROFILE_ALGORITHM |
		MRC_CTL_CC_PROFILE_CONFIG), 0);
	CHECK(!strcmp(c.algorithm, "uet-1.0-nscc") &&
	      ((const struct mrc_ctl_cc_nscc_cfg *)c.cc_config)->base_rtt == 12000 &&
	      ((const struct mrc_ctl_cc_nscc_cfg *)c.cc_config)->fi == 0.25f);
	c.algorithm = NULL;
	VALUE(mrc_ctl_modify_cc_profile(mrc, 9, &c, MRC_CTL_CC_PROFILE_ALGORITHM), 0);
	VALUE(mrc_ctl_query_cc_profile(mrc, 9, &c, MRC_CTL_CC_PROFILE_ALGORITHM), 0);
	CHECK(!c.algorithm);
	c.algorithm = "the name of an algorithm that has too many letters";
	REFUSED(mrc_ctl_modify_cc_profile(mrc, 9, &c, MRC_CTL_CC_PROFILE_ALGORITHM), EINVAL);

	req[0].req_ev.port = req[2].req_ev.port = 2;
	REFUSED(mrc_ctl_ep_batch_send_wait(mrc, 3, MRC_CTL_EP_OP_EV_PROBE, req, 3, 1000, rsp, &n),
		ETIMEDOUT);
	CHECK(n == 2 && rsp[0].req_id == 1 && rsp[1].req_id == 2 && rsp[1].rtt == 1002 &&
	      rsp[1].port == 2 && rsp[1].adj_svc_time);
	VALUE(mrc_ctl_ep_batch_send_wait(mrc, 3, MRC_CTL_EP_OP_EV_PROBE, req, 1, 1000, rsp, &n), 0);
	REFUSED(mrc_ctl_ep_batch_send_wait(mrc, 3, MRC_CTL_EP_OP_EV_PROBE, req, 0, 1000, rsp, &n), EINVAL);
	REFUSED(mrc_ctl_ep_batch_send_wait(mrc, 3, 2, req, 1, 1000, rsp, &n), EINVAL);
	REFUSED(mrc_ctl_ep_batch_send_wait(mrc, 64, MRC_CTL_EP_OP_EV_PROBE, req, 1, 1, rsp, &n), EINVAL);
	close_all();
}

static void ev_events(void)
{
	/* Of API version 1.0.0: without the state. */
	struct old {
		uint64_t profile_id;
		struct mrc_ctl_ev ev;
		uint32_t drop_count;
	} old[2];
	struct mrc_context_attr attr = { .mrc_api_version_used = MRC_API_VER(1, 0, 0) };
	struct mrc_ctl_ev_event events[4];
	struct mrc_context *before;
	struct mrc_cq *evs;
	struct ibv_wc wc;

	open_all(16, 8, 0);
	evs = mrc_ctl_create_ev_event_cq(mrc, 8, NULL, channel, 0);
	CHECK(evs);
	REFUSED(mrc_poll_cq(evs, 1, &wc), EINVAL);
	CHECK(mrc_ctl_poll_ev_event(cq, 1, events) == -EINVAL);
	CHECK(mrc_ctl_poll_ev_event(evs, 4, events) == 2 && events[1].profile_id == 7 &&
	      events[1].ev.val[0] == 101 && events[1].ev.port == 2 && events[1].drop_count == 1 &&
	      events[1].state == MRC_CTL_EV_ASSUMED_BAD);
	CHECK(mrc_ctl_poll_ev_event(evs, 4, events) == 0);
	VALUE(mrc_destroy_cq(evs), 0);
	before = mrc_create_context(verbs, &attr);
	evs = mrc_ctl_create_ev_event_cq(before, 8, NULL, NULL, 0);
	CHECK(evs && mrc_ctl_poll_ev_event(evs, 2, (struct mrc_ctl_ev_event *)old) == 2 &&
	      old[1].ev.val[0] == 101 && old[1].drop_count == 1);
	VALUE(mrc_destroy_context(before), 0);
	close_all();
}

/* --- Rules that the scenarios above do not need --- */

static void *destroyer(void *arg)
{
	VALUE(mrc_destroy_cq(arg), 0);
	return NULL;
}

/* Destroys a queue, which has to wait for an event that the program has and not acknowledged. */
static pthread_t destroy_waits(struct mrc_cq *c)
{
	struct timespec until;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, destroyer, c));
	CHECK(!clock_gettime(CLOCK_REALTIME, &until));
	until.tv_nsec += 50 * 1000 * 1000;
	if (until.tv_nsec >= 1000 * 1000 * 1000) {
		until.tv_sec++;
		until.tv_nsec -= 1000 * 1000 * 1000;
	}
	CHECK(pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
	return thread;
}

/* What belongs to another device or context, or is no queue for completions, makes no queue pair. */
static void rule_owners(void)
{
	struct mrc_qp_init_attr good = { .cap = { .max_send_wr = 1, .max_recv_wr = 1 } }, init;
	struct mrc_qp_hint_init_attr hint_init = { 0 };
	struct ibv_context *own = verbs;
	struct ibv_pd *own_pd = pd, *pd2;
	struct mrc_context *mrc2, *second = mrc_create_context(verbs, NULL);
	struct mrc_cq *cq2, *evs = mrc_ctl_create_ev_event_cq(mrc, 4, NULL, NULL, 0);
	struct mrc_qp_attr m = { 0 };
	struct mrc_qp *q;

	CHECK(second && evs);
	open_verbs();
	mrc2 = mrc_create_context(verbs, NULL);
	pd2 = pd;
	cq2 = mrc_create_cq(mrc2, 4, NULL, NULL, 0);
	CHECK(mrc2 && cq2);
	good.send_cq = good.recv_cq = cq;
	good.pd = own_pd;
	for (int i = 0; i < 6; i++) {
		init = good;
		if (i == 1)
			init.send_cq = cq2;
		if (i == 2)
			init.recv_cq = cq2;
		if (i == 3)
			init.send_cq = evs;
		if (i == 4)
			init.recv_cq = evs;
		if (i == 5)
			init.pd = pd2;
		errno = 0;
		q = mrc_create_qp(mrc, &init);
		CHECK(i == 0 ? q != NULL : q == NULL && errno == EINVAL);
		if (q)
			VALUE(mrc_destroy_qp(q), 0);
	}
	m.qp_hint = mrc_create_qp_hint(second, &hint_init);
	CHECK(m.qp_hint);
	VALUE(mrc_modify_qp(qp, NULL, 0, &m, MRC_QP_HINT), EINVAL);
	VALUE(mrc_destroy_qp_hint(m.qp_hint), 0);
	m.qp_hint = mrc_create_qp_hint(mrc, &hint_init);
	CHECK(m.qp_hint);
	VALUE(mrc_modify_qp(qp, NULL, 0, &m, MRC_QP_HINT), 0);
	VALUE(mrc_destroy_cq(evs), 0);
	VALUE(mrc_destroy_context(second), 0);
	VALUE(ibv_dealloc_pd(pd2), 0);
	VALUE(mrc_destroy_context(mrc2), 0);
	VALUE(ibv_close_device(verbs), 0);
	verbs = own;
	pd = own_pd;
}

/* Work is sent from RTS on; receives are taken from INIT on. */
static void rule_states(void)
{
	static const struct {
		enum ibv_qp_state state;
		int mask, sends;
	} steps[] = {
		{ IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS, EINVAL },
		{ IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU,
		  EINVAL },
		{ IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN, 0 },
	};
	struct mrc_qp *q = make_qp(cq, 4);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct ibv_qp_attr v = { .qp_state = steps[i].state, .port_num = 1, .dest_qp_num = 2,
					 .path_mtu = IBV_MTU_4096 };

		VALUE(mrc_modify_qp(q, &v, steps[i].mask, NULL, 0), 0);
		VALUE(post(q, 1, 0), steps[i].sends);
		VALUE(receive(q, 1), 0);
	}
	VALUE(mrc_destroy_qp(q), 0);
}

/* Who waits for every completion goes on to do so after asking for solicited ones too, and a queue
   goes when its events are acknowledged. */
static void rule_events(void)
{
	struct mrc_cq *c = mrc_create_cq(mrc, 4, NULL, channel, 0), *full[2], *which;
	struct mrc_async_event event;
	struct mrc_qp *q = make_qp(c, 8), *filler[2];
	struct pollfd p = { .events = POLLIN };
	struct ibv_wc wc;
	pthread_t thread;
	void *context;

	to_rts(q, 1);
	VALUE(mrc_get_comp_channel_fd(channel, &p.fd), 0);
	VALUE(mrc_req_notify_cq(c, 0), 0);
	VALUE(mrc_req_notify_cq(c, 1), 0);
	VALUE(post(q, 1, IBV_SEND_SIGNALED), 0);
	reap(c, &wc, 1);
	CHECK(poll(&p, 1, 10000) == 1);
	CHECK(mrc_get_cq_event(channel, &which, &context) == 0 && which == c);
	VALUE(mrc_destroy_qp(q), 0);
	thread = destroy_waits(c);
	mrc_ack_cq_events(c, 1);
	CHECK(!pthread_join(thread, NULL));

	/* Of two queues that overflow, the program hears of one, and destroys the other before. */
	for (int i = 0; i < 2; i++) {
		full[i] = mrc_create_cq(mrc, 4, NULL, NULL, 0);
		filler[i] = make_qp(full[i], 8);
		to_rts(filler[i], 2);
		for (uint64_t k = 0; k < 6; k++)
			VALUE(post(filler[i], k, IBV_SEND_SIGNALED), 0);
		to_rts(filler[i], 1);
	}
	CHECK(mrc_get_async_event(mrc, &event) == 0 && event.event_type == IBV_EVENT_CQ_ERR &&
	      event.element.cq == full[0]);
	for (int i = 0; i < 2; i++)
		VALUE(mrc_destroy_qp(filler[i]), 0);
	VALUE(mrc_destroy_cq(full[1]), 0);
	thread = destroy_waits(full[0]);
	mrc_ack_async_event(&event);
	CHECK(!pthread_join(thread, NULL));
	CHECK(fcntl(verbs->async_fd, F_SETFL, O_NONBLOCK) == 0);
	REFUSED(mrc_get_async_event(mrc, &event), EAGAIN);
}

/* A region with ZERO_BASED begins at 0, others where they are or as they say. The test sees it. */
static void rule_regions(void)
{
	VALUE(ibv_dereg_mr(ibv_reg_mr(pd, memory, 100, IBV_ACCESS_ZERO_BASED)), 0);
	VALUE(ibv_dereg_mr(ibv_reg_mr_iova(pd, memory, 101, 77, 0)), 0);
	VALUE(ibv_dereg_mr(ibv_reg_mr_iova(pd, memory, 102, 77, IBV_ACCESS_ZERO_BASED)), 0);
}

/* Attributes go with the first part of a list, ONLINE with its last. The test sees it. */
static void rule_lists(void)
{
	static struct mrc_ctl_ev_op_entry paths[1025];
	static const enum mrc_ctl_profile_state states[] = { MRC_CTL_PROFILE_ONLINE,
							     MRC_CTL_PROFILE_OFFLINE };

	for (int i = 0; i < 2; i++) {
		struct mrc_ctl_ev_profile_attr e = { .profile_state = states[i], .ev_count = 1025,
						     .ev_op = { .entries = paths, .entry_count = 1025 } };

		VALUE(mrc_ctl_modify_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_STATE |
			MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_OP), 0);
		e = (struct mrc_ctl_ev_profile_attr){ 0 };
		VALUE(mrc_ctl_query_ev_profile(mrc, 6, &e, MRC_CTL_EV_PROFILE_CUR_STATE), 0);
		CHECK(e.cur_profile_state == (i ? MRC_CTL_PROFILE_OFFLINE : MRC_CTL_PROFILE_ONLINE));
	}
}

/* Parts of a batch share its time. The test sees it. */
static void rule_batches(void)
{
	static struct mrc_ctl_ep_req req[1700];
	static struct mrc_ctl_ep_rsp rsp[1700];
	static const uint32_t times[] = { 600 * 1000 * 1000, 1 };
	int n;

	for (int i = 0; i < 2; i++) {
		VALUE(mrc_ctl_ep_batch_send_wait(mrc, 3, MRC_CTL_EP_OP_EV_PROBE, req, 1700, times[i], rsp,
						 &n), 0);
		CHECK(n == 1700);
	}
}

static void rules(void)
{
	open_all(4, 8, 0);
	rule_owners();
	rule_states();
	rule_events();
	rule_regions();
	rule_lists();
	rule_batches();
	close_all();
}

/* An answer to another request, one that is cut off and one with a negative error end the connection:
   lengths of a region that the test's NIC answers so. */
static void answers(void)
{
	for (size_t length = 1001; length <= 1003; length++) {
		open_all(4, 8, 0);
		NONE(ibv_reg_mr(pd, memory, length, 0), EIO);
		NONE(ibv_reg_mr(pd, memory, 8, 0), EIO);
		close_all();
	}
}

/* There is no device where the NIC speaks another version. */
static void version(void)
{
	int n = 1;
	struct ibv_device **list = ibv_get_device_list(&n);

	CHECK(n == 0 && (!list || !list[0]));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{ "well", well },	    { "errors", errors },   { "overflow", overflow },
		{ "death", death },	    { "untailed", untailed }, { "polls", polls },
		{ "tailed", tailed },	    { "reset", reset },
		{ "forks", forks },	    { "orphan", orphan },   { "threads", threads },
		{ "control", control },	    { "ev_events", ev_events },
		{ "rules", rules },	    { "answers", answers },  { "version", version },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(all) / sizeof(all[0]); i++) {
		if (!strcmp(argv[1], all[i].name)) {
			all[i].run();
			return 0;
		}
	}
	return 2;
}

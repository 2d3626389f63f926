/*
 * A program that controls its NIC by mrc_ctl.h: control SCENARIO SOCKET PEER'S SOCKET. It holds both
 * NICs, so that it has a peer; SOCKET's is the one that it configures. Scenarios follow one another:
 *
 *   configure   configures all there is, uses it, and leaves some of it
 *   kept        finds what configure has left, after the NIC's end, and takes it away
 *   powerless   may do nothing where it cannot open the socket for control
 *
 * A line on stdout asks the test for something, and a line on stdin says that it is done. The status is
 * 0 if all is as expected.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <mrc.h>
#include <mrc_ctl.h>

static void fail(int line, const char *what)
{
	fprintf(stderr, "control.c:%d: %s, errno %d (%s)\n", line, what, errno, strerror(errno));
	_exit(1);
}

#define CHECK(condition)                            \
	do {                                        \
		if (!(condition))                   \
			fail(__LINE__, #condition); \
	} while (0)
#define DONE(call) CHECK((call) == 0)
#define REFUSED(call, value) CHECK((errno = 0, (call) == -1) && errno == (value))

static void ask(const char *what)
{
	char line[64];

	printf("%s\n", what);
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin));
}

/* --- Both NICs --- */

enum { OCTETS = 1 << 20 };
enum { FORMAT = 1, GEN = 3, AUTO = 4, EXP = 7, NSCC = 5, NO_CC = 6 };

struct side {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct mrc_context *mrc;
	struct mrc_cq *cq;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t *memory;
};

static struct side here, there;

static void open_side(struct side *s, const char *socket)
{
	struct ibv_device **list;
	int n;

	setenv("WEFT_NIC_SOCKET", socket, 1);
	list = ibv_get_device_list(&n);
	CHECK(list && n == 1);
	s->verbs = ibv_open_device(list[0]);
	CHECK(s->verbs);
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->verbs);
	s->memory = calloc(1, OCTETS);
	CHECK(s->pd && s->memory);
	s->mr = ibv_reg_mr(s->pd, s->memory, OCTETS, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	s->mrc = mrc_create_context(s->verbs, NULL);
	CHECK(s->mr && s->mrc);
	s->cq = mrc_create_cq(s->mrc, 64, NULL, NULL, 0);
	CHECK(s->cq);
	DONE(ibv_query_gid(s->verbs, 1, 0, &s->gid));
}

static void close_side(struct side *s)
{
	DONE(mrc_destroy_cq(s->cq));
	DONE(mrc_destroy_context(s->mrc));
	DONE(ibv_dereg_mr(s->mr));
	DONE(ibv_dealloc_pd(s->pd));
	DONE(ibv_close_device(s->verbs));
	free(s->memory);
}

static struct mrc_qp *new_qp(struct side *s)
{
	struct mrc_qp_init_attr init = { .send_cq = s->cq, .recv_cq = s->cq, .pd = s->pd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct mrc_qp *qp = mrc_create_qp(s->mrc, &init);

	CHECK(qp);
	return qp;
}

/* Takes a queue pair to INIT with profiles; the errno value, or 0. */
static int choose(struct mrc_qp *qp, uint64_t ev, uint64_t cc)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };
	struct mrc_qp_attr m = { .profile = { .ev_profile_id = ev, .cc_profile_id = cc } };

	return mrc_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS, &m,
			     MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID);
}

static void connect_to(struct mrc_qp *qp, struct mrc_qp *peer, const union ibv_gid *gid)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096,
		.ah_attr = { .is_global = 1, .port_num = 1 } };

	a.ah_attr.grh.dgid = *gid;
	DONE(mrc_get_qpn(peer, &a.dest_qp_num));
	DONE(mrc_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN, NULL, 0));
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	DONE(mrc_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN, NULL, 0));
}

/* Queue pairs of both, that of here by the profiles. */
static void pair(struct mrc_qp *qp[2], uint64_t ev, uint64_t cc)
{
	qp[0] = new_qp(&here);
	qp[1] = new_qp(&there);
	CHECK(choose(qp[0], ev, cc) == 0 && choose(qp[1], 0, 0) == 0);
	connect_to(qp[0], qp[1], &there.gid);
	connect_to(qp[1], qp[0], &here.gid);
}

static void unpair(struct mrc_qp *qp[2])
{
	DONE(mrc_destroy_qp(qp[0]));
	DONE(mrc_destroy_qp(qp[1]));
}

static void write_all(struct mrc_qp *qp, uint8_t value)
{
	struct ibv_sge s = { .addr = (uintptr_t)here.memory, .length = OCTETS, .lkey = here.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;
	int n;

	memset(here.memory, value, OCTETS);
	wr.wr.rdma.remote_addr = (uintptr_t)there.memory;
	wr.wr.rdma.rkey = there.mr->rkey;
	DONE(mrc_post_send(qp, &wr, &bad));
	while ((n = mrc_poll_cq(here.cq, 1, &wc)) == 0)
		;
	CHECK(n == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(!memcmp(here.memory, there.memory, OCTETS));
}

/* --- Profiles --- */

/* EVs of the explicit profile: a source port each, by ports 1 and 2 in turn. */
static struct mrc_ctl_ev ev(int i)
{
	return (struct mrc_ctl_ev){ .val = { 0xC0, (uint8_t)i }, .port = (uint8_t)(i % 2 + 1) };
}

static int is_ev(const struct mrc_ctl_ev *is, int i)
{
	struct mrc_ctl_ev want = ev(i);

	return !memcmp(is, &want, sizeof(want));
}

static struct mrc_ctl_ev_field whole[2] = { { 16, 0, 0, 0xFFFF, 0xFFFF }, { 16, 0, 0, 0xFFFF, 0xFFFF } };

static int format_to(uint64_t id, enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_ev_fmt_profile_attr a = { .profile_state = to };

	return mrc_ctl_modify_ev_fmt_profile(here.mrc, id, &a, MRC_CTL_EV_FMT_PROFILE_STATE);
}

static int evs_to(uint64_t id, enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_ev_profile_attr a = { .profile_state = to };

	return mrc_ctl_modify_ev_profile(here.mrc, id, &a, MRC_CTL_EV_PROFILE_STATE);
}

static int cc_to(uint64_t id, enum mrc_ctl_profile_state to)
{
	struct mrc_ctl_cc_profile_attr a = { .profile_state = to };

	return mrc_ctl_modify_cc_profile(here.mrc, id, &a, MRC_CTL_CC_PROFILE_STATE);
}

static void device(void)
{
	struct mrc_ctl_device_attr d;
	uint32_t v[4];
	int supported;

	mrc_ctl_query_version(&v[0], &v[1], &v[2], &v[3]);
	CHECK(v[0] == MRC_CTL_API_CURRENT_VERSION && v[1] <= v[0] && v[3] <= v[2]);
	DONE(mrc_ctl_query_device_ex(here.verbs, here.mrc, &d, &supported));
	CHECK(supported && d.phy_port_mask == (1 << 1 | 1 << 2) && d.mrc_ctl_protocol_version);
	CHECK(d.ev.ev_max_profiles && d.ev.ev_free_count && d.ev.ev_free_count <= d.ev.ev_max_count &&
	      d.ev.ev_max_count_profile && d.ev.ev_max_fmt_profiles && d.cc.cc_max_profiles);
	CHECK(d.ev.ev_mode_mask ==
	      (MRC_CTL_EV_MODE_AUTO | MRC_CTL_EV_MODE_EXP | MRC_CTL_EV_MODE_GEN));
	CHECK(d.ev.ev_fmt_mode_mask & MRC_CTL_EV_FMT_MODE_STEV);
	CHECK(!strcmp(d.cc.algorithms[0], "uet-1.0-nscc") && !d.cc.algorithms[1]);
	CHECK((d.opt_attr & MRC_CTL_OPT_CAP_EV_EVENT) && (d.opt_attr & MRC_CTL_OPT_CAP_EP_OP_EV_PROBE));
	DONE(mrc_ctl_query_device(here.verbs, &d));
	REFUSED(mrc_ctl_query_device(NULL, &d), EINVAL);
	REFUSED(mrc_ctl_query_device_ex(here.verbs, here.mrc, &d, NULL), EINVAL);
}

static void formats(void)
{
	struct mrc_ctl_ev_fmt_field widths[3] = { { 16 }, { 16 }, { 1 } }, back[3];
	struct mrc_ctl_ev_fmt_profile_attr a = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.cur_profile_state = MRC_CTL_PROFILE_ONLINE, .ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV };

	REFUSED(format_to(FORMAT, MRC_CTL_PROFILE_OFFLINE), EINVAL); /* no mode */
	REFUSED(format_to(0, MRC_CTL_PROFILE_OFFLINE), EINVAL);
	REFUSED(mrc_ctl_modify_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_PROFILE_STATE |
		MRC_CTL_EV_FMT_PROFILE_CUR_STATE | MRC_CTL_EV_FMT_PROFILE_MODE), EINVAL);
	REFUSED(mrc_ctl_modify_ev_fmt_profile(here.mrc, FORMAT, &a, 1 << 4), EINVAL);
	DONE(mrc_ctl_modify_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_PROFILE_STATE |
		MRC_CTL_EV_FMT_PROFILE_MODE));
	REFUSED(format_to(FORMAT, MRC_CTL_PROFILE_ONLINE), EINVAL); /* no fields */
	a.vendor_cfg[5] = 1;
	REFUSED(mrc_ctl_modify_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_VENDOR_CFG), EINVAL);
	a.ev_fmt_op.op = MRC_CTL_EV_FMT_OP_MODIFY_FIELDS;
	a.ev_fmt_op.fmt_fields = widths;
	a.ev_fmt_op.fmt_field_count = 3;
	REFUSED(mrc_ctl_modify_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_PROFILE_OP), E2BIG);
	a.ev_fmt_op.fmt_field_count = 2;
	a.profile_state = MRC_CTL_PROFILE_ONLINE;
	a.cur_profile_state = MRC_CTL_PROFILE_OFFLINE;
	DONE(mrc_ctl_modify_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_PROFILE_STATE |
		MRC_CTL_EV_FMT_PROFILE_CUR_STATE | MRC_CTL_EV_FMT_PROFILE_OP));
	REFUSED(mrc_ctl_modify_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_PROFILE_MODE), EINVAL);
	a = (struct mrc_ctl_ev_fmt_profile_attr){ .ev_fmt_op = { MRC_CTL_EV_FMT_OP_QUERY_FIELDS, back, 1 } };
	REFUSED(mrc_ctl_query_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_PROFILE_OP), E2BIG);
	CHECK(a.ev_fmt_op.fmt_field_count == 2);
	DONE(mrc_ctl_query_ev_fmt_profile(here.mrc, FORMAT, &a, MRC_CTL_EV_FMT_PROFILE_OP |
		MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE));
	CHECK(a.profile_state == MRC_CTL_PROFILE_ONLINE && back[0].width == 16 && back[1].width == 16 &&
	      a.ev_fmt_mode == MRC_CTL_EV_FMT_MODE_STEV);
}

/* The explicit profile with four EVs, ONLINE. */
static void explicit_evs(void)
{
	struct mrc_ctl_ev_op_entry e[4] = { { .flags = 0 } };
	struct mrc_ctl_ev_profile_attr a = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_EXP, .ev_fmt_profile_id = FORMAT, .ev_count = 4,
		.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, whole, 2 } };
	const int configure = MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
		MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;

	REFUSED(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, configure & ~MRC_CTL_EV_PROFILE_COUNT), EINVAL);
	REFUSED(mrc_ctl_modify_ev_profile(here.mrc, 0, &a, configure), EINVAL);
	a.ev_fmt_profile_id = 77;
	REFUSED(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, configure), EINVAL);
	a.ev_fmt_profile_id = FORMAT;
	a.ev_count = 1 << 20;
	REFUSED(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, configure), E2BIG);
	a.ev_count = 4;
	DONE(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, configure));
	REFUSED(evs_to(EXP, MRC_CTL_PROFILE_ONLINE), EINVAL); /* places without an EV */
	for (int i = 0; i < 4; i++) {
		e[i].ev_new = ev(i);
		e[i].state = MRC_CTL_EV_GOOD;
	}
	e[3].ev_new.port = 3;
	a = (struct mrc_ctl_ev_profile_attr){ .ev_op = { MRC_CTL_EV_OP_REPLACE_EV, e, 4 } };
	REFUSED(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, MRC_CTL_EV_PROFILE_EV_OP), EINVAL);
	e[3].ev_new = ev(3);
	a.ev_op.entries = &e[3]; /* those before the one that failed are done */
	a.ev_op.entry_count = 1;
	DONE(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, MRC_CTL_EV_PROFILE_EV_OP));
	a = (struct mrc_ctl_ev_profile_attr){ .profile_state = MRC_CTL_PROFILE_ONLINE, .ev_min_active = 5,
		.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD };
	REFUSED(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, MRC_CTL_EV_PROFILE_MIN_ACTIVE), EINVAL);
	a.ev_min_active = 1;
	DONE(mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, MRC_CTL_EV_PROFILE_STATE |
		MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK));
}

static void other_evs(void)
{
	struct mrc_ctl_ev_field fields[2] = { { 16, 0x5000, 2, 9, 0xF }, { 16, 0, 0, 0, 0 } }, back[2];
	struct mrc_ctl_ev_op_entry e[8];
	struct mrc_ctl_ev_profile_attr a = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_GEN, .ev_fmt_profile_id = FORMAT, .ev_count = 8,
		.ev_fields_op = { MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, fields, 2 } };

	DONE(mrc_ctl_modify_ev_profile(here.mrc, GEN, &a, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE |
		MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_EV_FIELDS_OP));
	DONE(evs_to(GEN, MRC_CTL_PROFILE_ONLINE));
	a = (struct mrc_ctl_ev_profile_attr){ .ev_op = { MRC_CTL_EV_OP_QUERY_EV_ARRAY, e, 8 } };
	DONE(mrc_ctl_query_ev_profile(here.mrc, GEN, &a, MRC_CTL_EV_PROFILE_EV_OP |
		MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MODE));
	CHECK(a.ev_count == 8 && a.ev_op.entry_count == 8 && a.ev_mode == MRC_CTL_EV_MODE_GEN);
	for (int i = 0; i < 8; i++)
		CHECK(e[i].state == MRC_CTL_EV_GOOD && (e[i].ev.port == 1 || e[i].ev.port == 2));
	a.ev_fields_op = (__typeof__(a.ev_fields_op)){ MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, back, 2 };
	DONE(mrc_ctl_query_ev_profile(here.mrc, GEN, &a, MRC_CTL_EV_PROFILE_EV_FIELDS_OP));
	CHECK(!memcmp(fields, back, sizeof(fields)));

	a = (struct mrc_ctl_ev_profile_attr){ .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = MRC_CTL_EV_MODE_AUTO, .ev_count = 4 };
	DONE(mrc_ctl_modify_ev_profile(here.mrc, AUTO, &a, MRC_CTL_EV_PROFILE_STATE |
		MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_COUNT));
	DONE(evs_to(AUTO, MRC_CTL_PROFILE_ONLINE));
	a.ev_op = (__typeof__(a.ev_op)){ MRC_CTL_EV_OP_MODIFY_EV_STATE, e, 1 };
	e[0].state = MRC_CTL_EV_DENIED;
	REFUSED(mrc_ctl_modify_ev_profile(here.mrc, AUTO, &a, MRC_CTL_EV_PROFILE_EV_OP), EINVAL);
}

static const struct mrc_ctl_cc_nscc_cfg nscc = { .adjust_bytes_threshold = 32768,
	.adjust_period_threshold = 10000, .base_rtt = 20000, .eta = 1500, .fi = 1000, .fi_scale = 0.25f,
	.gamma = 0.8f, .max_md_jump = 0.5f, .max_cwnd = 1 << 20, .qa_gate = 3, .qa_threshold = 40000,
	.target_delay = 15000 };

static void cc_profiles(void)
{
	struct mrc_ctl_cc_profile_attr a = { .profile_state = MRC_CTL_PROFILE_OFFLINE,
		.algorithm = "another", .cc_config = &nscc };
	struct mrc_ctl_cc_nscc_cfg bad = nscc;

	REFUSED(cc_to(NSCC, MRC_CTL_PROFILE_OFFLINE), EINVAL); /* no algorithm */
	REFUSED(mrc_ctl_modify_cc_profile(here.mrc, NSCC, &a, MRC_CTL_CC_PROFILE_STATE |
		MRC_CTL_CC_PROFILE_ALGORITHM), EINVAL);
	a.algorithm = "uet-1.0-nscc";
	DONE(mrc_ctl_modify_cc_profile(here.mrc, NSCC, &a, MRC_CTL_CC_PROFILE_STATE |
		MRC_CTL_CC_PROFILE_ALGORITHM));
	REFUSED(cc_to(NSCC, MRC_CTL_PROFILE_ONLINE), EINVAL); /* no parameters */
	a.cur_profile_state = MRC_CTL_PROFILE_ONLINE;
	REFUSED(mrc_ctl_modify_cc_profile(here.mrc, NSCC, &a, MRC_CTL_CC_PROFILE_CUR_STATE), EINVAL);
	a.vendor_cfg[9] = 1;
	REFUSED(mrc_ctl_modify_cc_profile(here.mrc, NSCC, &a, MRC_CTL_CC_PROFILE_VENDOR_CFG), EINVAL);
	bad.gamma = 0;
	a.cc_config = &bad;
	REFUSED(mrc_ctl_modify_cc_profile(here.mrc, NSCC, &a, MRC_CTL_CC_PROFILE_CONFIG), EINVAL);
	a.cc_config = &nscc;
	a.profile_state = MRC_CTL_PROFILE_ONLINE;
	DONE(mrc_ctl_modify_cc_profile(here.mrc, NSCC, &a, MRC_CTL_CC_PROFILE_STATE |
		MRC_CTL_CC_PROFILE_CONFIG));
	a = (struct mrc_ctl_cc_profile_attr){ .profile_state = MRC_CTL_PROFILE_OFFLINE };
	DONE(mrc_ctl_modify_cc_profile(here.mrc, NO_CC, &a, MRC_CTL_CC_PROFILE_STATE |
		MRC_CTL_CC_PROFILE_ALGORITHM));
	DONE(cc_to(NO_CC, MRC_CTL_PROFILE_ONLINE));
	a.algorithm = "";
	DONE(mrc_ctl_query_cc_profile(here.mrc, NO_CC, &a, MRC_CTL_CC_PROFILE_ALGORITHM));
	CHECK(!a.algorithm);
}

static void check_nscc(void)
{
	struct mrc_ctl_cc_profile_attr a = { 0 };
	const struct mrc_ctl_cc_nscc_cfg *is;

	DONE(mrc_ctl_query_cc_profile(here.mrc, NSCC, &a, MRC_CTL_CC_PROFILE_STATE |
		MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG));
	is = a.cc_config;
	CHECK(a.profile_state == MRC_CTL_PROFILE_ONLINE && !strcmp(a.algorithm, "uet-1.0-nscc"));
	CHECK(is->base_rtt == nscc.base_rtt && is->gamma == nscc.gamma && is->max_cwnd == nscc.max_cwnd &&
	      is->qa_gate == nscc.qa_gate && is->target_delay == nscc.target_delay);
}

/* --- Use --- */

static int deny(int i, enum mrc_ctl_ev_state state)
{
	struct mrc_ctl_ev_op_entry e = { .ev = ev(i), .state = state };
	struct mrc_ctl_ev_profile_attr a = { .ev_op = { MRC_CTL_EV_OP_MODIFY_EV_STATE, &e, 1 } };

	return mrc_ctl_modify_ev_profile(here.mrc, EXP, &a, MRC_CTL_EV_PROFILE_EV_OP);
}

/* What queue pairs use stays as it is. */
static void busy(void)
{
	struct mrc_qp *qp[2], *refused = new_qp(&here);

	CHECK(choose(refused, 99, 0) == EINVAL && choose(refused, 0, 99) == EINVAL);
	DONE(mrc_destroy_qp(refused));
	for (uint64_t id = GEN; id <= AUTO; id++) {
		pair(qp, id, NO_CC);
		write_all(qp[0], (uint8_t)id);
		REFUSED(evs_to(id, MRC_CTL_PROFILE_OFFLINE), EBUSY);
		unpair(qp);
	}
	pair(qp, EXP, NSCC);
	write_all(qp[0], 77);
	DONE(deny(0, MRC_CTL_EV_DENIED));
	REFUSED(deny(9, MRC_CTL_EV_DENIED), ENOENT);
	write_all(qp[0], 78);
	REFUSED(evs_to(EXP, MRC_CTL_PROFILE_OFFLINE), EBUSY);
	REFUSED(cc_to(NSCC, MRC_CTL_PROFILE_OFFLINE), EBUSY);
	REFUSED(format_to(FORMAT, MRC_CTL_PROFILE_OFFLINE), EBUSY);
	REFUSED(evs_to(EXP, MRC_CTL_PROFILE_INIT), EINVAL);
	unpair(qp);
	DONE(evs_to(AUTO, MRC_CTL_PROFILE_OFFLINE));
	DONE(evs_to(AUTO, MRC_CTL_PROFILE_INIT));
}

/* Port 2 does not carry what is long: its EVs become ASSUMED_BAD, with an event by the channel. */
static void events(void)
{
	struct mrc_comp_channel *channel;
	struct mrc_ctl_ev_event e[4];
	struct mrc_cq *evs, *which;
	struct mrc_qp *qp[2];
	struct ibv_wc wc;
	void *context;
	int n = 0;

	DONE(mrc_create_comp_channel(here.mrc, &channel));
	evs = mrc_ctl_create_ev_event_cq(here.mrc, 4, &n, channel, 0);
	CHECK(evs);
	REFUSED(mrc_poll_cq(evs, 1, &wc), EINVAL);
	CHECK(mrc_ctl_poll_ev_event(here.cq, 1, e) == -EINVAL);
	CHECK(mrc_ctl_poll_ev_event(evs, 4, e) == 0);
	DONE(mrc_req_notify_cq(evs, 0));
	pair(qp, EXP, NSCC);
	ask("break port 2");
	for (int bad = 0; !bad;) {
		write_all(qp[0], 5);
		n = mrc_ctl_poll_ev_event(evs, 4, e);
		CHECK(n >= 0);
		for (int i = 0; i < n; i++) {
			CHECK(e[i].profile_id == EXP && !is_ev(&e[i].ev, 0)); /* that is denied */
			if (e[i].state == MRC_CTL_EV_ASSUMED_BAD && (is_ev(&e[i].ev, 1) || is_ev(&e[i].ev, 3)))
				bad = 1; /* of port 2; a busy machine loses packets of port 1 too */
		}
	}
	DONE(mrc_get_cq_event(channel, &which, &context));
	CHECK(which == evs && context == &n);
	mrc_ack_cq_events(evs, 1);
	ask("mend port 2");
	unpair(qp);
	DONE(mrc_destroy_cq(evs));
	DONE(mrc_destroy_comp_channel(channel));
}

/* --- Probes --- */

static struct mrc_ctl_ep_req request(uint16_t id, uint8_t port)
{
	struct mrc_ctl_ep_req r = { .req_id = id, .sgid = here.gid, .dgid = there.gid,
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV, .req_ev = { .val = { 0xC0 }, .port = port } };

	return r;
}

static struct mrc_ctl_ep_req to_absent(uint16_t id)
{
	struct mrc_ctl_ep_req r = request(id, 1);

	r.dgid.raw[15] = 0x77;
	return r;
}

static int probe(uint8_t tc, struct mrc_ctl_ep_req *req, int count, struct mrc_ctl_ep_rsp *rsp, int *n)
{
	return mrc_ctl_ep_batch_send_wait(here.mrc, tc, MRC_CTL_EP_OP_EV_PROBE, req, count, 500000000, rsp, n);
}

static _Atomic int waited;

static void *wait_long(void *arg)
{
	struct mrc_ctl_ep_req r = to_absent(1);
	struct mrc_ctl_ep_rsp rsp;
	int n;
	(void)arg;

	REFUSED(mrc_ctl_ep_batch_send_wait(here.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, &r, 1, 4200000000u, &rsp, &n),
		ETIMEDOUT);
	waited = 1;
	return NULL;
}

static void probes(void)
{
	struct mrc_ctl_ep_req req[3] = { request(700, 1), request(701, 2), to_absent(702) };
	struct mrc_ctl_ep_rsp rsp[3];
	struct mrc_ctl_port_attr p;
	pthread_t thread;
	int n, seen = 0;

	DONE(probe(46, req, 2, rsp, &n));
	for (int i = 0; i < n; i++) {
		CHECK(rsp[i].req_id == 699 + rsp[i].port && rsp[i].rtt > 0);
		seen |= 1 << rsp[i].port;
	}
	CHECK(n == 2 && seen == (1 << 1 | 1 << 2));
	REFUSED(probe(0, req, 3, rsp, &n), ETIMEDOUT);
	CHECK(n == 2);
	REFUSED(probe(64, req, 1, rsp, &n), EINVAL);
	REFUSED(probe(0, req, 0, rsp, &n), EINVAL);
	REFUSED(probe(0, NULL, 1, rsp, &n), EINVAL);
	req[0].ev_fmt_mode = 8;
	REFUSED(probe(0, req, 1, rsp, &n), EINVAL);
	REFUSED(mrc_ctl_ep_batch_send_wait(here.mrc, 0, 2, &req[1], 1, 1000, rsp, &n), EINVAL);

	req[0] = request(9, 1);
	req[0].op.port_status_update.port_status = 1 << 1 | 1 << 2;
	DONE(mrc_ctl_ep_batch_send_wait(here.mrc, 46, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, req, 1, 1000000000,
					rsp, &n));
	CHECK(n == 1 && rsp[0].req_id == 9);
	req[0].op.port_status_update.port_status = 1; /* there is no port 0 */
	REFUSED(mrc_ctl_ep_batch_send_wait(here.mrc, 46, MRC_CTL_EP_OP_PORT_STATUS_UPDATE, req, 1, 1000000000,
					   rsp, &n), EINVAL);

	/* A batch that waits holds up no other request. */
	CHECK(!pthread_create(&thread, NULL, wait_long, NULL));
	for (int i = 0; i < 3; i++) {
		usleep(50000);
		DONE(mrc_ctl_query_port(here.mrc, 1, &p, MRC_CTL_PORT_ADMIN_STATE));
	}
	CHECK(!waited);
	CHECK(!pthread_join(thread, NULL) && waited);
}

/* --- Ports --- */

static void switch_port(enum mrc_ctl_port_admin_state to)
{
	struct mrc_ctl_port_attr p = { .port_admin_state = to };
	struct mrc_async_event e;
	struct ibv_port_attr is;

	DONE(mrc_ctl_modify_port(here.mrc, 2, &p, MRC_CTL_PORT_ADMIN_STATE));
	do { /* programs hear of it; events of the broken port may come before */
		DONE(mrc_get_async_event(here.mrc, &e));
		mrc_ack_async_event(&e);
	} while (e.event_type != (to ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR) ||
		 e.element.port_num != 2);
	p.port_admin_state = !to;
	DONE(mrc_ctl_query_port(here.mrc, 2, &p, MRC_CTL_PORT_ADMIN_STATE));
	DONE(ibv_query_port(here.verbs, 2, &is));
	CHECK(p.port_admin_state == to && is.state == (to ? IBV_PORT_ACTIVE : IBV_PORT_DOWN));
}

static void ports(void)
{
	struct mrc_ctl_ep_req req = request(1, 2);
	struct mrc_ctl_port_attr p = { .port_admin_state = 2 };
	struct mrc_ctl_ep_rsp rsp;
	int n;

	REFUSED(mrc_ctl_modify_port(here.mrc, 2, &p, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
	REFUSED(mrc_ctl_query_port(here.mrc, 3, &p, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
	REFUSED(mrc_ctl_query_port(here.mrc, 0, &p, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
	REFUSED(mrc_ctl_query_port(here.mrc, 1, &p, 2), EINVAL);
	switch_port(MRC_CTL_PORT_ADMIN_DISABLED);
	REFUSED(probe(0, &req, 1, &rsp, &n), ETIMEDOUT); /* it is not sent */
	switch_port(MRC_CTL_PORT_ADMIN_ENABLED);
	DONE(probe(0, &req, 1, &rsp, &n));
	switch_port(MRC_CTL_PORT_ADMIN_DISABLED);
}

/* --- Scenarios --- */

static void configure(void)
{
	device();
	formats();
	explicit_evs();
	other_evs();
	cc_profiles();
	check_nscc();
	busy();
	events();
	probes();
	ports();
}

static enum mrc_ctl_profile_state state_of(uint64_t id)
{
	struct mrc_ctl_ev_profile_attr a = { 0 };

	DONE(mrc_ctl_query_ev_profile(here.mrc, id, &a, MRC_CTL_EV_PROFILE_STATE));
	return a.profile_state;
}

static void kept(void)
{
	struct mrc_ctl_ev_op_entry e[4];
	struct mrc_ctl_ev_profile_attr a = { .ev_op = { MRC_CTL_EV_OP_QUERY_EV_ARRAY, e, 4 } };
	struct mrc_ctl_cc_profile_attr c = { 0 };
	struct mrc_ctl_port_attr p;
	struct mrc_qp *qp[2];

	DONE(mrc_ctl_query_ev_profile(here.mrc, EXP, &a, MRC_CTL_EV_PROFILE_EV_OP |
		MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
		MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK));
	CHECK(a.profile_state == MRC_CTL_PROFILE_ONLINE && a.ev_mode == MRC_CTL_EV_MODE_EXP &&
	      a.ev_fmt_profile_id == FORMAT && a.ev_count == 4 && a.ev_min_active == 1 &&
	      a.ev_event_mask == (MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD) && a.ev_op.entry_count == 4);
	for (int i = 0; i < 4; i++)
		CHECK(is_ev(&e[i].ev, i) &&
		      e[i].state == (i ? MRC_CTL_EV_GOOD : MRC_CTL_EV_DENIED));
	CHECK(state_of(GEN) == MRC_CTL_PROFILE_ONLINE && state_of(AUTO) == MRC_CTL_PROFILE_INIT);
	check_nscc();
	DONE(mrc_ctl_query_cc_profile(here.mrc, NO_CC, &c, MRC_CTL_CC_PROFILE_STATE));
	CHECK(c.profile_state == MRC_CTL_PROFILE_ONLINE);
	DONE(mrc_ctl_query_port(here.mrc, 2, &p, MRC_CTL_PORT_ADMIN_STATE));
	CHECK(p.port_admin_state == MRC_CTL_PORT_ADMIN_DISABLED);
	pair(qp, EXP, NSCC);
	write_all(qp[0], 11);
	switch_port(MRC_CTL_PORT_ADMIN_ENABLED);
	write_all(qp[0], 12);
	unpair(qp);
	for (int to = MRC_CTL_PROFILE_OFFLINE; to >= MRC_CTL_PROFILE_INIT; to--) {
		DONE(evs_to(EXP, to));
		DONE(evs_to(GEN, to));
		DONE(cc_to(NSCC, to));
		DONE(cc_to(NO_CC, to));
		DONE(format_to(FORMAT, to));
	}
	CHECK(state_of(EXP) == MRC_CTL_PROFILE_INIT);
}

/* Becomes a user who may not open the socket for control. Such a program is not dumpable, and could not
   open its memory. */
static void give_up(void)
{
	DONE(setgroups(0, NULL));
	DONE(setresgid(65534, 65534, 65534));
	DONE(setresuid(65534, 65534, 65534));
	DONE(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static void powerless(void)
{
	struct mrc_ctl_port_attr p = { .port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED };
	struct mrc_ctl_ev_fmt_profile_attr f;
	struct mrc_ctl_ev_profile_attr a;
	struct mrc_ctl_cc_profile_attr c;
	struct mrc_ctl_ep_req req = request(1, 1);
	struct mrc_ctl_device_attr d;
	struct mrc_ctl_ep_rsp rsp;
	struct mrc_qp *qp[2];
	int n;

	REFUSED(mrc_ctl_query_device(here.verbs, &d), EPERM);
	REFUSED(mrc_ctl_query_port(here.mrc, 1, &p, MRC_CTL_PORT_ADMIN_STATE), EPERM);
	REFUSED(mrc_ctl_modify_port(here.mrc, 1, &p, MRC_CTL_PORT_ADMIN_STATE), EPERM);
	REFUSED(format_to(FORMAT, MRC_CTL_PROFILE_INIT), EPERM);
	REFUSED(mrc_ctl_query_ev_fmt_profile(here.mrc, FORMAT, &f, MRC_CTL_EV_FMT_PROFILE_STATE), EPERM);
	REFUSED(evs_to(EXP, MRC_CTL_PROFILE_INIT), EPERM);
	REFUSED(mrc_ctl_query_ev_profile(here.mrc, EXP, &a, MRC_CTL_EV_PROFILE_STATE), EPERM);
	REFUSED(cc_to(NSCC, MRC_CTL_PROFILE_INIT), EPERM);
	REFUSED(mrc_ctl_query_cc_profile(here.mrc, NSCC, &c, MRC_CTL_CC_PROFILE_STATE), EPERM);
	CHECK(!mrc_ctl_create_ev_event_cq(here.mrc, 4, NULL, NULL, 0) && errno == EPERM);
	REFUSED(probe(0, &req, 1, &rsp, &n), EPERM);
	pair(qp, 0, 0); /* the rest of the interface is everybody's */
	write_all(qp[0], 1);
	unpair(qp);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "configure", configure }, { "kept", kept }, { "powerless", powerless } };

	for (size_t i = 0; argc == 4 && i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(argv[1], all[i].name))
			continue;
		if (all[i].run == powerless)
			give_up();
		open_side(&here, argv[2]);
		open_side(&there, argv[3]);
		all[i].run();
		close_side(&here);
		close_side(&there);
		return 0;
	}
	return 2;
}

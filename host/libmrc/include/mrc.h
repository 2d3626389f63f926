/*
 * The application side of MRC (chapter 10.2.1 of the specification): queue pairs that write over
 * all planes of a network. The ABI is that of the interface that OCP publishes: names, values and
 * layouts are the same, and programs written for it compile and run. What these comments say holds
 * for the implementation over "weft nic"; docs/libmrc.md has how to run it.
 *
 * Devices, protection domains and memory regions are those of <infiniband/verbs.h>.
 *
 * All functions may be called by several threads at once. After fork, objects belong to the parent:
 * the child gets EPERM from every call, and opens its own context. When the NIC ends, outstanding
 * work completes with IBV_WC_WR_FLUSH_ERR, the context gets IBV_EVENT_DEVICE_FATAL, and calls that
 * need the NIC end with EIO; destroying objects works on.
 *
 * How errors come back follows the verbs: functions that are like a verb which returns an errno
 * value return one, those like a verb which returns -1 return -1, and pointers are NULL. errno is
 * set in each case.
 */
#ifndef _MRC_API_H_
#define _MRC_API_H_

#include <stdint.h>
#include <infiniband/verbs.h>

#include <mrc_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Octets that attributes have room for which only the maker of a NIC understands. */
#define MRC_MAX_VENDOR_CFG_SIZE 128

struct mrc_context;
struct mrc_comp_channel;
struct mrc_cq;
struct mrc_qp;
struct mrc_qp_hint;

/* Versions of the wire protocol: bits of what a device can, and one bit of what a queue pair uses. */
enum mrc_protocol_version {
	MRC_PROTOCOL_VERSION_0 = 0, /* whatever the device takes for its default */
	MRC_PROTOCOL_VERSION_1 = 1, /* version 1.0 of the specification */
};

/* --- Versions, device and context --- */

/*
 * The versions of the application API that the library has (MRC_API_VER): the newest and the oldest,
 * and the same of the maker's part. It needs no device.
 */
void mrc_query_version(uint32_t *current_version, uint32_t *last_supported_version,
		       uint32_t *vendor_version, uint32_t *last_supported_vendor_version);

/* What a device can beyond what the specification requires (table 10-1). */
enum mrc_device_cap {
	MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,   /* as responder it answers trimmed packets by a NACK */
	MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1, /* the range of PSNs may shrink and grow */
	MRC_DEVICE_CAP_SVC_TIME = 1 << 2,    /* as responder it says how long an answer took it */
};

struct mrc_device_attr {
	uint32_t mrc_protocol_version; /* bits of enum mrc_protocol_version; 0: not said */
	struct {
		uint16_t max_wimm;      /* WRITEs with Immediate in flight: as requestor, */
		uint16_t max_wimm_dest; /* as responder */
	} wimm_attr;
	struct {
		uint8_t max_mpr;        /* largest range of PSNs, in units of 128 */
		uint8_t mpr_resolution; /* and the step, in units of 128 */
	} mpr_attr;
	struct {
		uint32_t max_qp_hint; /* hints of a process */
	} qp_attr;
	uint32_t cap; /* bits of enum mrc_device_cap */
};

/*
 * Fills in attr, and says in supported whether the device has MRC: 1, or 0 with attr all zero. A
 * device that the library does not know has none: that is no error. mcontext may be NULL.
 * Returns 0, or -1: EINVAL (a NULL), EIO (the NIC has ended), EPERM (in a child).
 */
#if MRC_API_VER_USED >= MRC_API_VER(1, 0, 1)
int mrc_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			struct mrc_device_attr *attr, int *supported);
#endif
int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr, int *supported);

struct mrc_context_attr {
	uint32_t mrc_api_version_used;        /* MRC_API_VER_USED; 0: the newest */
	uint32_t mrc_vendor_api_version_used; /* MRC_VENDOR_API_VER_USED; 0: the newest */
};

/*
 * A context for objects of MRC on a device that ibv_open_device opened. context_attr may be NULL.
 * The context holds on to the device: it may be closed before.
 * Errors: EINVAL (a NULL, or a newer API than the library has), EOPNOTSUPP (the device is not one of
 * "weft nic"), EIO, EPERM, ENOMEM.
 */
struct mrc_context *mrc_create_context(struct ibv_context *vcontext,
				       struct mrc_context_attr *context_attr);

/* Destroys it with every object that it still has. Returns 0, or -1: EINVAL, EPERM. */
int mrc_destroy_context(struct mrc_context *mrc_ctx);

/* --- Completion queues --- */

/* A channel by which completion queues wake a program. Returns 0, EINVAL, EIO, EMFILE, ENOMEM or
   EPERM. */
int mrc_create_comp_channel(struct mrc_context *mrc_ctx, struct mrc_comp_channel **channel);

/*
 * The descriptor of a channel, for poll(2): readable when mrc_get_cq_event has something. With
 * O_NONBLOCK set on it, mrc_get_cq_event ends with EAGAIN instead of waiting.
 * Returns 0, or -1: EINVAL, EPERM.
 */
int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd);

/* Returns 0, EBUSY while completion queues use it, EINVAL or EPERM. */
int mrc_destroy_comp_channel(struct mrc_comp_channel *channel);

/*
 * A completion queue of at least cqe entries, from 1 to max_cqe of ibv_query_device; channel may be
 * NULL, comp_vector is 0. It needs room for the completions of all that is posted until they are
 * polled: places in a send or receive queue are free again when the work is done, which may be
 * before. A queue that overflows is in error from then on: poll ends with EOVERFLOW,
 * its queue pairs go to the error state (chapter 6.2.7, CQ overflow), and the context gets
 * IBV_EVENT_CQ_ERR.
 * Errors: EINVAL, EIO, EMFILE, ENOMEM, EPERM.
 */
struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
			     struct mrc_comp_channel *channel, int comp_vector);

/*
 * Takes up to num_entries completions. wc.opcode is valid in failed ones also.
 * Returns how many there were, or -1: EINVAL, EPERM, EOVERFLOW (after the last entry that there was
 * room for), EIO (the NIC has ended, and nothing is outstanding any more).
 */
int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc);

/* Waits until events that were got are acknowledged. Returns 0, EBUSY while queue pairs use it,
   EINVAL or EPERM. */
int mrc_destroy_cq(struct mrc_cq *cq);

/*
 * Wants one event for the next completion that is added, or with solicited_only for the next that is
 * solicited or has failed. What lies in the queue already makes no event: poll once more after this.
 * Returns 0, EINVAL, EIO (the NIC has ended: poll has the rest) or EPERM.
 */
int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only);

/*
 * Waits for an event of a channel: which queue, and its cq_context. When the NIC ends, each queue
 * that waits for an event has one more.
 * Returns 0, or -1: EAGAIN (O_NONBLOCK), EINVAL, EIO (the NIC has ended), EPERM.
 */
int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq, void **cq_context);

/* Acknowledges nevents events that mrc_get_cq_event gave of a queue. */
void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents);

/* --- Hints --- */

/* What a program expects of the traffic of a group of queue pairs (all counts; 0: not said). */
struct mrc_qp_hint_attr {
	int num_qps_per_peer;      /* queue pairs of the group that send to one peer at a time */
	int num_send_peers;        /* peers that the group sends to at a time */
	int num_remote_recv_peers; /* queue pairs elsewhere that send to the same peer at a time */
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

enum mrc_qp_hint_attr_mask {
	MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
	MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
	MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
	MRC_QP_HINT_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

struct mrc_qp_hint_init_attr {
	struct mrc_qp_hint_attr attr;
};

/* A hint, for MRC_QP_HINT of mrc_modify_qp. Errors: EINVAL (a NULL, a negative count), ENOMEM (more
   than max_qp_hint), EIO, EPERM. */
struct mrc_qp_hint *mrc_create_qp_hint(struct mrc_context *mrc_ctx,
				       struct mrc_qp_hint_init_attr *init_attr);

/* Returns 0, or -1: EBUSY while queue pairs have it, EINVAL, EPERM. */
int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint);

/* Fills in what qp_hint_attr_mask names. Returns 0, or -1: EINVAL, EIO, EPERM. */
int mrc_query_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
		      int qp_hint_attr_mask);

/* Changes what qp_hint_attr_mask names, for all queue pairs that have it. Returns 0, or -1: EINVAL,
   EIO, EPERM. */
int mrc_modify_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
		       int qp_hint_attr_mask);

/* --- Queue pairs --- */

struct mrc_qp_init_attr {
	void *qp_context; /* comes back from mrc_query_qp */
	struct mrc_cq *send_cq;
	struct mrc_cq *recv_cq;
	struct ibv_qp_cap cap; /* wanted; then what there is, which may be more */
	int sq_sig_all;        /* not 0: every work request makes a completion */
	struct ibv_pd *pd;     /* of the context's device */
	uint64_t send_ops_flags; /* IBV_QP_EX_WITH_RDMA_WRITE, ..._WITH_IMM; 0: both */
	enum mrc_protocol_version protocol_version;
};

/*
 * A queue pair in state IBV_QPS_RESET.
 * Errors: EINVAL (a NULL, objects of another context or device, more than the device can),
 * EOPNOTSUPP (send_ops_flags, protocol_version), ENOMEM, EMFILE, EIO, EPERM.
 */
struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx, struct mrc_qp_init_attr *mrc_qp_attr);

/* Outstanding work makes no completions any more. Waits until asynchronous events that were got are
   acknowledged. Returns 0, EINVAL or EPERM. */
int mrc_destroy_qp(struct mrc_qp *qp);

/* What mrc_modify_qp changes beside the attributes of the verbs; the state in which each is due. */
enum mrc_qp_attr_mask {
	MRC_QP_MAX_WIMM = 1 << 0,      /* to RTS */
	MRC_QP_MAX_WIMM_DEST = 1 << 1, /* to RTR */
	MRC_QP_MPR = 1 << 2,           /* to RTS */
	MRC_QP_MPR_DEST = 1 << 3,      /* to RTR */
	MRC_QP_TIMEOUT = 1 << 4,       /* to RTS */
	MRC_QP_EV_PROFILE_ID = 1 << 5, /* to INIT */
	MRC_QP_CC_PROFILE_ID = 1 << 6, /* to INIT */
	MRC_QP_HINT = 1 << 7,          /* to INIT */
	MRC_QP_RETRY_CNT = 1 << 8,     /* to RTS */
	MRC_QP_CAP = 1 << 9,           /* to RTR */
	MRC_QP_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

enum mrc_qp_cap {
	MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0, /* the peer sends no NACK for a trimmed packet */
	MRC_QP_CAP_DYNAMIC_MPR = 1 << 1,                /* both ends let the range of PSNs move */
	MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2,  /* the peer does not say its service time */
};

struct mrc_qp_attr {
	struct {
		uint8_t mpr;      /* range of PSNs as requestor, in units of 128 */
		uint8_t mpr_dest; /* and as responder */
	} mpr;
	struct {
		uint16_t max_wimm;      /* WRITEs with Immediate in flight, as requestor */
		uint16_t max_wimm_dest; /* and as responder (chapter 6.3.3) */
	} wimm;
	uint8_t timeout; /* of an acknowledgement: 1.024 us * 2^timeout, at most 24 (17.2 s) */
	struct {
		uint64_t ev_profile_id; /* learned out of band (chapter 10.2.2) */
		uint64_t cc_profile_id;
	} profile;
	struct {
		uint8_t linear_cnt; /* retries a timeout apart, at most 7 */
		uint8_t exp_cnt;    /* then retries twice as far apart each, at most 25: no end */
	} retry;
	struct mrc_qp_hint *qp_hint; /* NULL: none */
	uint32_t cap;                /* bits of enum mrc_qp_cap */
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE];
};

/*
 * Fills in vattr, mrc_attr and init_attr, each of which may be NULL if its mask is 0: all that there
 * is, whatever the masks name. Returns 0, EINVAL, EIO or EPERM.
 */
int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		 struct mrc_qp_attr *mrc_attr, int mrc_attr_mask,
		 struct mrc_qp_init_attr *init_attr);

/*
 * Changes what the masks name, all or nothing: RESET, INIT, RTR, RTS, and from each of these to ERR
 * or RESET.
 *
 * MRC has attributes of its own for IBV_QP_TIMEOUT and IBV_QP_RETRY_CNT, and no RNR
 * (IBV_QP_RNR_RETRY): programs pass them all the same, so they are let through and mean nothing.
 * IBV_QP_PORT must name a port of the device, and means nothing more: a queue pair uses all planes.
 * IBV_QP_MIN_RNR_TIMER, IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_ALT_PATH and
 * IBV_QP_PATH_MIG_STATE are refused. Of IBV_QP_AV, grh.dgid and sgid_index count, and
 * traffic_class and sl are the class of data: the upper 6 bits of traffic_class are the DSCP; where
 * they are 0, sl (0 to 7) is it, times 8; where both are 0, DSCPs are settings of the NIC. A DSCP that
 * the NIC has for control or trimmed packets is EINVAL. flow_label and hop_limit are read back, and
 * mean nothing.
 *
 * Returns 0, EINVAL (a mask, a value, a transition, a profile that is not ONLINE), EIO or EPERM.
 */
int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		  struct mrc_qp_attr *mrc_attr, int mrc_attr_mask);

/* The number of a queue pair, which peers name. Returns 0, or -1: EINVAL, EPERM. */
int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn);

/*
 * Posts receive work requests: each takes one WRITE with Immediate, of which it gets the immediate
 * data; memory that it names is not written. In state ERR they complete at once, flushed.
 * Returns 0, or -1 with bad_wr the first that was not posted: EINVAL (state RESET, too many
 * entries), ENOMEM (the queue is full), EIO, EPERM.
 */
int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/*
 * Posts RDMA WRITEs (IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM), with IBV_SEND_SIGNALED,
 * IBV_SEND_SOLICITED, IBV_SEND_INLINE (the data is taken over before the call returns) and
 * IBV_SEND_FENCE (without READs it means nothing). In state ERR they complete at once, flushed.
 * Returns 0, or with bad_wr the first that was not posted: EINVAL (a state before RTS, an opcode, a
 * flag, too many entries, too long), ENOMEM (the queue is full), EIO, EPERM.
 */
int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/* --- Asynchronous events --- */

struct mrc_async_event {
	union {
		struct mrc_cq *cq; /* of IBV_EVENT_CQ_ERR */
		struct mrc_qp *qp; /* of events of queue pairs */
		int port_num;      /* of events of ports */
	} element;
	enum ibv_event_type event_type;
};

/*
 * Waits for an event: of an object of this context, or of a port or the device, which whoever reads
 * first gets (this, or ibv_get_async_event). async_fd of the ibv_context is readable when there is
 * one; with O_NONBLOCK set on it this ends with EAGAIN. IBV_EVENT_DEVICE_FATAL comes to each context,
 * once, when the NIC ends; then EIO.
 * Returns 0, or -1: EAGAIN, EINVAL, EIO, EPERM.
 */
int mrc_get_async_event(struct mrc_context *mrc_ctx, struct mrc_async_event *event);

/* Acknowledges an event. An object cannot be destroyed before its events are. */
void mrc_ack_async_event(struct mrc_async_event *event);

#ifdef __cplusplus
}
#endif

#endif

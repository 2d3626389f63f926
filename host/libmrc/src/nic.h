/*
 * What lib_mrc.so and libibverbs.so.1 say to "weft nic", and what they share with it.
 *
 * A process has one connection to the NIC: a Unix socket of type SOCK_SEQPACKET. Each message of
 * the process is a request, which begins with struct nic_request and gets one answer, which begins
 * with struct nic_answer; requests of a connection are answered in their order. Work and completions
 * do not go through the socket, but through rings in shared memory, which the NIC makes (memfd) and
 * hands over with SCM_RIGHTS. All numbers have the byte order of the machine.
 *
 * The NIC trusts nothing here: lengths, indices and addresses of a ring are checked each time, and
 * a process can harm only itself. Package host/uverbs is the other end; a test compares sizes
 * and offsets.
 */
#ifndef WEFT_NIC_H
#define WEFT_NIC_H

#include <stdint.h>

#define NIC_VERSION 2
#define NIC_SOCKET "/run/weft/nic.sock" /* unless WEFT_NIC_SOCKET says another */
#define NIC_CONTROL ".control"          /* follows it in the name of the socket for control */
#define NIC_MAX_MESSAGE 65536           /* octets of a request or an answer */
#define NIC_MAX_PORTS 8

enum nic_op {
	NIC_HELLO = 1,     /* nic_hello with fd: /proc/self/mem, read and write; nic_device; fds: doorbell page (memfd), doorbell (eventfd),
	                      asynchronous events (pipe, read end) */
	NIC_QUERY_PORT,    /* nic_object.handle: port from 1; nic_port */
	NIC_ALLOC_PD,      /* -; nic_object */
	NIC_DEALLOC_PD,    /* nic_object */
	NIC_REG_MR,        /* nic_mr; nic_mr with handle and keys */
	NIC_DEREG_MR,      /* nic_object */
	NIC_CREATE_CHANNEL,/* -; nic_object; fd: pipe, read end: each event is a uint64_t, the handle of a CQ */
	NIC_DESTROY_CHANNEL,
	NIC_CREATE_CQ,     /* nic_cq; nic_cq; fd: ring (memfd) */
	NIC_DESTROY_CQ,    /* EBUSY while queue pairs use it */
	NIC_CREATE_QP,     /* nic_qp; nic_qp; fd: rings (memfd) */
	NIC_MODIFY_QP,     /* nic_qp_attr */
	NIC_QUERY_QP,      /* nic_object; nic_qp_attr */
	NIC_DESTROY_QP,
	NIC_CREATE_HINT,   /* nic_hint; nic_hint */
	NIC_MODIFY_HINT,   /* nic_hint */
	NIC_QUERY_HINT,    /* nic_object; nic_hint */
	NIC_DESTROY_HINT,  /* EBUSY while queue pairs use it */

	/* of mrc_ctl; EPERM but by the socket for control, which has all the others too */
	NIC_CTL_DEVICE = 64, /* -; nic_ctl_device */
	NIC_CTL_QUERY_PORT,  /* nic_object; nic_ctl_port */
	NIC_CTL_MODIFY_PORT, /* nic_ctl_port */
	NIC_CTL_MODIFY_FORMAT, /* nic_format */
	NIC_CTL_QUERY_FORMAT,  /* nic_object; nic_format */
	NIC_CTL_MODIFY_EVS,    /* nic_evs; nic_evs */
	NIC_CTL_QUERY_EVS,     /* nic_evs; nic_evs */
	NIC_CTL_MODIFY_CC,     /* nic_cc */
	NIC_CTL_QUERY_CC,      /* nic_object; nic_cc */
	NIC_CTL_ENDPOINT,      /* nic_endpoint; nic_endpoint; answered when all is, or the time is over */
};

struct nic_request {
	uint32_t op;   /* enum nic_op */
	uint32_t seq;  /* comes back */
};

struct nic_answer {
	uint32_t seq;
	int32_t error; /* 0, or an errno; then nothing follows */
};

struct nic_object { uint64_t handle; };

/* HELLO */
struct nic_hello {
	uint32_t version;     /* NIC_VERSION */
	uint32_t api_version; /* that the application was built for; 0: not said */
	uint64_t probe;       /* address of a uint64_t of the process */
	uint64_t value;       /* what is there; the NIC writes its complement */
};

struct nic_device {
	uint32_t version;
	uint32_t ports;        /* numbered from 1 */
	char name[64];         /* of the device */
	uint8_t guid[8];       /* network order */
	uint8_t gid[16];       /* GID 0 of each port: the address of the host */
	uint32_t max_qp, max_qp_wr, max_sge, max_inline, max_cq, max_cqe, max_mr, max_pd, max_hint;
	uint32_t max_wimm, max_wimm_dest; /* WRITEs with Immediate in flight */
	uint32_t max_mpr, mpr_resolution; /* units of 128 PSNs */
	uint32_t cap;          /* enum mrc_device_cap */
	uint32_t reserved[2];
	uint64_t max_mr_size;
	uint64_t max_message;
};

struct nic_port {
	uint32_t state;        /* enum ibv_port_state */
	uint32_t max_mtu, active_mtu; /* enum ibv_mtu */
	uint32_t speed;        /* Mbit/s */
};

/* The doorbell page: memory of NIC_DOORBELL_SIZE octets, one for each connection. */
#define NIC_DOORBELL_SIZE 4096
#define NIC_DIRTY_WORDS 64 /* 4096 queue pairs of a process at most */

struct nic_doorbell {
	/* The NIC sets it before it sleeps. Who finds it set, by an exchange with 0 after the bits below
	   were set, writes 1 to the eventfd. */
	uint32_t sleeping;
	/* The NIC sets it when it ends in order; who finds the socket closed knows anyway. */
	uint32_t gone;
	uint32_t reserved[14];
	/* A bit for each queue pair, by nic_qp.slot: it has new work. Set by fetch-or, after the head. */
	uint64_t dirty[NIC_DIRTY_WORDS];
};

struct nic_mr {
	uint64_t handle;
	uint64_t pd;
	uint64_t addr;   /* of the process */
	uint64_t length;
	uint64_t iova;   /* virtual address of the first octet, as peers say it */
	uint32_t access; /* enum ibv_access_flags */
	uint32_t lkey, rkey;
	uint32_t reserved;
};

/* Completion queues. The ring begins with this page; entries of struct nic_cqe follow at
   NIC_RING_ENTRIES. Indices run free; the place of one is index modulo depth. */
#define NIC_RING_ENTRIES 4096

struct nic_cq {
	uint64_t handle;
	uint64_t channel; /* 0: none */
	uint32_t depth;   /* asked for; then what there is: a power of two */
	uint32_t kind;    /* 0: of work, 1: of EV events (entries of nic_ev_event) */
};

struct nic_cq_ring {
	uint32_t depth;
	uint32_t entry;        /* octets of an entry */
	uint32_t reserved0[14];
	uint32_t head;         /* the NIC's: of the next entry it writes */
	uint32_t overflow;     /* an entry found no room: the queue is in error */
	uint32_t reserved1[14];
	uint32_t tail;         /* the process's: of the next entry it reads */
	uint32_t reserved2[15];
	uint32_t armed;        /* 0: no, 1: tell of the next entry, 2: of the next solicited or failed one;
	                          the NIC clears it when it tells */
	uint32_t reserved3[15];
};

struct nic_cqe {
	uint64_t wr_id;
	uint32_t status;   /* enum ibv_wc_status */
	uint32_t opcode;   /* enum ibv_wc_opcode; also of a failed one, so that IBV_WC_RECV tells the queue */
	uint32_t byte_len;
	uint32_t imm;      /* network order, if IBV_WC_WITH_IMM */
	uint32_t qpn;
	uint32_t src_qp;
	uint32_t flags;    /* enum ibv_wc_flags */
	uint32_t vendor_err;
	uint32_t index;    /* of the entry of the send or receive queue that it completes, running free,
	                      plus 1; 0: not said. The NIC moves sq_tail or rq_tail first, so that there is
	                      a place when the process learns of it; by the index the library knows what
	                      has no completion when the NIC ends. */
	uint32_t reserved[5];
};

struct nic_ev_event {
	uint64_t profile;
	uint8_t ev[32];
	uint32_t port;
	uint32_t state;    /* enum mrc_ctl_ev_state */
	uint32_t dropped;
	uint32_t reserved[3];
};

/* Queue pairs. The rings begin with this page; the entries of the send queue follow at
   NIC_RING_ENTRIES, those of the receive queue at rq_offset. */
struct nic_qp {
	uint64_t handle;
	uint64_t pd, send_cq, recv_cq;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline; /* asked for; then granted */
	uint32_t sq_sig_all;
	uint32_t protocol_version; /* enum mrc_protocol_version */
	uint32_t qpn;
	uint32_t slot;             /* of nic_doorbell.dirty */
	uint32_t reserved;
	uint64_t send_ops;         /* enum ibv_qp_create_send_ops_flags */
};

struct nic_qp_ring {
	uint32_t sq_depth, sq_entry; /* entries, a power of two; octets of one, a multiple of 64 */
	uint32_t rq_depth, rq_entry;
	uint32_t rq_offset;
	uint32_t reserved0[11];
	uint32_t sq_head;      /* the process's: of the next entry it writes */
	uint32_t rq_head;
	uint32_t reserved1[14];
	uint32_t sq_tail;      /* the NIC's: all before it are complete; at most sq_depth lie between.
	                          When the queue pair goes to RESET it becomes sq_head, without completions */
	uint32_t rq_tail;      /* likewise */
	uint32_t state;        /* the NIC's: enum ibv_qp_state */
	uint32_t reserved2[13];
};

struct nic_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

#define NIC_MAX_SGE 32
#define NIC_MAX_INLINE 512

struct nic_sqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t opcode;       /* enum ibv_wr_opcode */
	uint32_t flags;        /* enum ibv_send_flags */
	uint32_t imm;          /* network order */
	uint32_t rkey;
	uint32_t num_sge;      /* 0 with IBV_SEND_INLINE */
	uint32_t inline_length;
	uint32_t reserved[6];
	/* struct nic_sge sge[num_sge], or inline_length octets, follow at 64 */
};

struct nic_rqe {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t reserved[13];
	/* struct nic_sge sge[num_sge] follow at 64 */
};

/* MODIFY_QP and QUERY_QP: what the masks name. For a query both masks mean nothing, all is filled in. */
struct nic_qp_attr {
	uint64_t handle;
	uint32_t mask;         /* enum ibv_qp_attr_mask */
	uint32_t mrc_mask;     /* enum mrc_qp_attr_mask */

	uint32_t state, cur_state; /* enum ibv_qp_state */
	uint32_t path_mtu;     /* enum ibv_mtu */
	uint32_t qkey;
	uint32_t rq_psn, sq_psn, dest_qpn;
	uint32_t access;
	uint32_t pkey_index;
	uint32_t port;
	uint32_t en_sqd_notify;
	/* of the address vector */
	uint32_t is_global, sgid_index, traffic_class, flow_label, hop_limit, sl;
	uint8_t dgid[16];

	/* enum mrc_qp_attr_mask */
	uint32_t mpr, mpr_dest, max_wimm, max_wimm_dest;
	uint32_t timeout;
	uint32_t linear_cnt, exp_cnt;
	uint32_t cap;
	uint32_t reserved;
	uint64_t ev_profile, cc_profile;
	uint64_t hint;         /* 0: none */
	uint8_t vendor[128];
};

struct nic_hint {
	uint64_t handle;
	uint32_t mask;         /* enum mrc_qp_hint_attr_mask */
	int32_t qps_per_peer, send_peers, remote_recv_peers;
	uint8_t vendor[128];
};

/* An asynchronous event, as it comes by the pipe. */
struct nic_async {
	uint32_t type;         /* enum ibv_event_type */
	uint32_t port;
	uint64_t handle;       /* of the queue pair or completion queue */
};

/* mrc_ctl */
struct nic_ctl_device {
	uint32_t protocol_version;
	uint32_t ev_max_fmt_profiles, ev_max_profiles, ev_max_count, ev_free_count, ev_max_count_profile,
		ev_count_align, ev_max_width, ev_fmt_mode_mask, ev_mode_mask, ev_op_max_entries;
	uint32_t cc_max_profiles;
	uint32_t port_mask;
	uint32_t opt;          /* enum mrc_ctl_attr_opt */
};

struct nic_ctl_port {
	uint32_t port;
	uint32_t mask;         /* enum mrc_ctl_port_attr_mask */
	uint32_t state;        /* enum mrc_ctl_port_admin_state */
};

#define NIC_MAX_FIELDS 32

struct nic_format {
	uint64_t id;
	uint32_t mask;         /* enum mrc_ctl_ev_fmt_profile_attr_mask */
	uint32_t state, cur_state;
	uint32_t mode;
	uint32_t op;           /* enum mrc_ctl_ev_fmt_op */
	uint32_t fields;
	uint8_t width[NIC_MAX_FIELDS];
	uint8_t vendor[128];
};

struct nic_ev_field { uint32_t width, init, min, max, mask; };

struct nic_ev_entry {
	uint8_t ev[32], to[32];
	uint32_t port, to_port;
	uint32_t flags;
	uint32_t state;
};

#define NIC_MAX_ENTRIES 512 /* of a message; the library splits longer arrays */

struct nic_evs {
	uint64_t id, format;
	uint32_t mask;         /* enum mrc_ctl_ev_profile_attr_mask */
	uint32_t state, cur_state;
	uint32_t mode;
	uint32_t count, min_active;
	uint32_t event_mask;
	uint32_t op;           /* of entries, or of fields */
	uint32_t first;        /* of a query of the array: index of the first entry wanted */
	uint32_t entries;      /* nic_ev_entry that follow the fields; in an answer to a query also */
	uint32_t fields;       /* nic_ev_field that follow */
	uint32_t total;        /* entries that there are */
	uint32_t failed;       /* index of the first entry that was refused; entries: none */
	uint32_t reserved;
	uint8_t vendor[128];
};

struct nic_cc {
	uint64_t id;
	uint32_t mask;
	uint32_t state, cur_state;
	char algorithm[32];    /* empty: none */
	uint32_t disable_qa, adjust_bytes_threshold, adjust_period_threshold, base_rtt;
	float eta, fi, fi_scale, gamma, max_md_jump;
	uint32_t max_cwnd, qa_gate, qa_threshold, target_delay;
	uint8_t vendor[128];
};

struct nic_ep_request {
	uint32_t id;
	uint32_t mode;         /* enum mrc_ctl_ev_fmt_mode */
	uint8_t sgid[16], dgid[16];
	uint8_t ev[32];
	uint32_t port;
	uint32_t port_status;
};

struct nic_ep_answer {
	uint32_t id;
	uint32_t port;
	uint32_t rtt;          /* ns */
	uint32_t adjusted;
};

struct nic_endpoint {
	uint32_t op;           /* enum mrc_ctl_ep_op_type */
	uint32_t dscp;
	uint32_t timeout;      /* ns */
	uint32_t count;        /* of nic_ep_request, or nic_ep_answer, that follow */
};

#endif

/*
 * The control side of MRC (chapter 10.2.2 of the specification): ports, the profiles by which queue
 * pairs choose paths and windows, events of paths, and probes. One program of a host is meant to
 * use it, with CAP_NET_ADMIN or in the group of the NIC's socket; others get EPERM. The ABI is that
 * of the interface that OCP publishes.
 *
 * Where a controller has written a profile, others may only read it (EBUSY), unless "weft nic" runs
 * with --local-control. What is written here outlives the program, and the NIC's restart.
 *
 * Functions return 0, or -1 with errno; those common to all: EINVAL, EIO (the NIC has ended), EPERM.
 */
#ifndef _MRC_CTL_API_H_
#define _MRC_CTL_API_H_

#include <stdint.h>
#include <infiniband/verbs.h>

#include <mrc.h>
#include <mrc_ctl_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128

/* Octets of an EV: a structured EV or a UDP port uses the first 4, SRv6 an address of 16 and, after
   it, the one segment of an SRH. */
#define MRC_CTL_EV_MAX_BYTES 32

/* The EV of a place in an explicit profile that nothing was put in. */
#define MRC_CTL_EV_UNPOPULATED ((struct mrc_ctl_ev){ .val = { 0 }, .port = 0 })

enum mrc_ctl_protocol_version {
	MRC_CTL_PROTOCOL_VERSION_0 = 0,
	MRC_CTL_PROTOCOL_VERSION_1 = 1,
};

/* All profiles go from INIT to OFFLINE to ONLINE and back the same way. */
enum mrc_ctl_profile_state {
	MRC_CTL_PROFILE_INIT = 0,    /* nothing is configured */
	MRC_CTL_PROFILE_OFFLINE = 1, /* configured, and may be changed */
	MRC_CTL_PROFILE_ONLINE = 2,  /* queue pairs may use it */
};

/* --- Versions and device --- */

/* As mrc_query_version, of this API. */
void mrc_ctl_query_version(uint32_t *current_version, uint32_t *last_supported_version,
			   uint32_t *vendor_version, uint32_t *last_supported_vendor_version);

enum mrc_ctl_attr_opt {
	MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0, /* EV profiles may change while ONLINE */
	MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1, /* and CC profiles */
	MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,                 /* mrc_ctl_create_ev_event_cq */
	MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3,        /* explicit EVs must be one range */
	MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4, /* drop_count is a number, not just 1 */
	MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5,           /* MRC_CTL_EP_OP_EV_PROBE */
};

struct mrc_ctl_device_attr {
	uint32_t mrc_ctl_protocol_version; /* bits of enum mrc_ctl_protocol_version */
	struct {
		uint32_t ev_max_fmt_profiles;  /* EV format profiles of the device */
		uint32_t ev_max_profiles;      /* EV profiles */
		uint32_t ev_max_count;         /* EVs of all profiles, */
		uint32_t ev_free_count;        /* and how many of them are free */
		uint32_t ev_max_count_profile; /* EVs of one profile */
		uint32_t ev_count_align;       /* the number of EVs of a profile is a multiple */
		uint32_t ev_max_width;         /* bits of an EV */
		uint32_t ev_fmt_mode_mask;     /* bits of enum mrc_ctl_ev_fmt_mode */
		uint32_t ev_mode_mask;         /* bits of enum mrc_ctl_ev_mode */
		uint32_t ev_op_max_entries;    /* entries of an operation; 0: no limit */
	} ev;
	struct {
		uint32_t cc_max_profiles;
		const char **algorithms; /* names, then NULL; they belong to the library */
	} cc;
	uint32_t phy_port_mask; /* bit n: port n, from 1 */
	uint32_t opt_attr;      /* bits of enum mrc_ctl_attr_opt */
};

/*
 * What the device has for a controller. mcontext may be NULL. supported is 0 for a device that the
 * library does not know; mrc_ctl_query_device ends with EOPNOTSUPP for such.
 */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
int mrc_ctl_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			    struct mrc_ctl_device_attr *ctl_attr, int *supported);
#endif
int mrc_ctl_query_device(struct ibv_context *context, struct mrc_ctl_device_attr *ctl_attr);

/* --- Ports --- */

enum mrc_ctl_port_admin_state {
	MRC_CTL_PORT_ADMIN_DISABLED = 0, /* ibv_query_port says IBV_PORT_DOWN */
	MRC_CTL_PORT_ADMIN_ENABLED = 1,
};

enum mrc_ctl_port_attr_mask {
	MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

struct mrc_ctl_port_attr {
	enum mrc_ctl_port_admin_state port_admin_state;
};

/* Whether a port, from 1, is on, and switches it. EINVAL: no such port, or nothing in the mask that
   there is. */
int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
		       struct mrc_ctl_port_attr *attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
			struct mrc_ctl_port_attr *attr, int attr_mask);

/* --- EV format profiles: the fields of an EV on the wire --- */

enum mrc_ctl_ev_fmt_mode {
	MRC_CTL_EV_FMT_MODE_STEV = 1 << 0, /* flow label and UDP source port (chapter 8) */
	MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1, /* destination address, and SRH */
	MRC_CTL_EV_FMT_MODE_UDP = 1 << 2,  /* UDP source port */
};

enum mrc_ctl_ev_fmt_op {
	MRC_CTL_EV_FMT_OP_MODIFY_FIELDS = 0,
	MRC_CTL_EV_FMT_OP_QUERY_FIELDS = 1,
};

enum mrc_ctl_ev_fmt_profile_attr_mask {
	MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1, /* EINVAL unless the profile is in this state */
	MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,      /* needed to OFFLINE */
	MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,        /* MODIFY_FIELDS is needed to ONLINE */
	MRC_CTL_EV_FMT_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

struct mrc_ctl_ev_fmt_field {
	uint8_t width; /* bits */
};

struct mrc_ctl_ev_fmt_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct {
		enum mrc_ctl_ev_fmt_op op;
		struct mrc_ctl_ev_fmt_field *fmt_fields; /* from the most significant */
		int fmt_field_count; /* of a query: room; then how many there are */
	} ev_fmt_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* Changes a format. E2BIG: more fields or bits than an EV has. EBUSY: EV profiles that use it are
   ONLINE. */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);

/* Reads what attr_mask names. E2BIG: room for fewer fields than there are; fmt_field_count has how
   many. */
int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);

/* --- EV profiles: the paths that queue pairs spray over --- */

typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

struct mrc_ctl_ev {
	mrc_ctl_ev_t val;
	uint8_t port; /* from 1: the plane */
};

enum mrc_ctl_ev_state {
	MRC_CTL_EV_GOOD = 1 << 0,
	MRC_CTL_EV_ASSUMED_BAD = 1 << 1, /* the NIC found that packets do not come through */
	MRC_CTL_EV_DENIED = 1 << 2,      /* the controller wants it left out */
	MRC_CTL_EV_UNKNOWN = -0x7fffffff - 1, /* bit 31 */
};

enum mrc_ctl_ev_mode {
	MRC_CTL_EV_MODE_AUTO = 1 << 0, /* the NIC chooses */
	MRC_CTL_EV_MODE_EXP = 1 << 1,  /* a list */
	MRC_CTL_EV_MODE_GEN = 1 << 2,  /* made from fields */
};

enum mrc_ctl_ev_op {
	MRC_CTL_EV_OP_REPLACE_EV = 0,      /* puts ev_new, with state, in the place of ev */
	MRC_CTL_EV_OP_MODIFY_EV_STATE = 1, /* gives ev the state */
	MRC_CTL_EV_OP_QUERY_EV_STATE = 2,  /* fills in the state of ev */
	MRC_CTL_EV_OP_QUERY_EV_ARRAY = 3,  /* fills in every ev and its state */
};

enum mrc_ctl_ev_fields_op {
	MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS = 0,
	MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS = 1,
};

enum mrc_ctl_ev_profile_attr_mask {
	MRC_CTL_EV_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_EV_PROFILE_MODE = 1 << 2,
	MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
	MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
	MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5,
	MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
	MRC_CTL_EV_PROFILE_EV_OP = 1 << 7,
	MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8, /* not together with EV_OP */
	MRC_CTL_EV_PROFILE_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

/*
 * A field of an EV. It begins as init_val; then each bit of mask, from the most significant, takes
 * the next bit of the EV, which a list holds or the NIC makes between min_val and max_val. The fields
 * one after the other are the EV on the wire. A fixed field has min_val, max_val and mask 0.
 */
struct mrc_ctl_ev_field {
	uint32_t width; /* bits; init_val and mask fit into it */
	uint32_t init_val;
	uint32_t min_val;
	uint32_t max_val; /* fits into as many bits as mask has */
	uint32_t mask;
};

enum mrc_ctl_ev_op_flags {
	MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0, /* every place that has ev, not just one */
};

struct mrc_ctl_ev_op_entry {
	struct mrc_ctl_ev ev;
	struct mrc_ctl_ev ev_new; /* of REPLACE_EV */
	enum mrc_ctl_ev_state state;
	uint32_t flags; /* bits of enum mrc_ctl_ev_op_flags */
};

struct mrc_ctl_ev_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	enum mrc_ctl_ev_mode ev_mode;
	uint64_t ev_fmt_profile_id;
	uint32_t ev_count;      /* EVs; a query gives what the device made of it */
	uint32_t ev_min_active; /* no more EVs become ASSUMED_BAD than leave so many, at most ev_count */
	int ev_event_mask;      /* of GOOD and ASSUMED_BAD: which changes make an EV event */
	struct {
		enum mrc_ctl_ev_op op;
		struct mrc_ctl_ev_op_entry *entries;
		int entry_count; /* of QUERY_EV_ARRAY: room; then how many there are */
	} ev_op;
	struct {
		enum mrc_ctl_ev_fields_op op;
		struct mrc_ctl_ev_field *fields; /* from the most significant; not more, and together
						    not wider, than those of the format */
		int field_count; /* of a query: room; then how many there are */
	} ev_fields_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/*
 * Changes an EV profile. To OFFLINE it needs a mode and, unless AUTO, format, count and fields; to
 * ONLINE a list without empty places if EXP. ONLINE it takes STATE and MODIFY_EV_STATE, and with
 * MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE also EVENT_MASK, REPLACE_EV and MODIFY_FIELDS.
 *
 * Entries are done one after the other, and the first that fails ends the call: those before it are
 * done. A list of more than 512 entries goes to the NIC in parts.
 * E2BIG: more fields or EVs than the device has; ENOENT: no such EV; EBUSY: queue pairs use it, or a
 * controller wrote it.
 */
int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
			      struct mrc_ctl_ev_profile_attr *attr, int attr_mask);

/* Reads what attr_mask names. E2BIG: room for fewer entries or fields than there are; the count has
   how many. ENOENT: no such EV. */
int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
			     struct mrc_ctl_ev_profile_attr *attr, int attr_mask);

/* --- CC profiles: congestion control --- */

enum mrc_ctl_cc_profile_attr_mask {
	MRC_CTL_CC_PROFILE_STATE = 1 << 0,
	MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1,
	MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2, /* needed to OFFLINE */
	MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,    /* needed to ONLINE */
	MRC_CTL_CC_PROFILE_VENDOR_CFG = -0x7fffffff - 1, /* bit 31 */
};

struct mrc_ctl_cc_profile_attr {
	enum mrc_ctl_profile_state profile_state;
	enum mrc_ctl_profile_state cur_profile_state;
	const char *algorithm; /* one of mrc_ctl_device_attr.cc.algorithms; NULL: none */
	/* Of "uet-1.0-nscc" a struct mrc_ctl_cc_nscc_cfg. A query points it, and algorithm, at what
	   belongs to the library: valid until the context is destroyed, or queries the same profile. */
	const void *cc_config;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

/* Of NSCC (chapter 8): names are those of the specification. */
struct mrc_ctl_cc_nscc_cfg {
	uint8_t disable_qa;               /* not 0: no quick adjust */
	uint32_t adjust_bytes_threshold;  /* octets */
	uint32_t adjust_period_threshold; /* ns */
	uint32_t base_rtt;                /* ns */
	float eta;
	float fi;
	float fi_scale;
	float gamma;
	float max_md_jump;
	uint32_t max_cwnd; /* octets */
	uint8_t qa_gate;
	uint32_t qa_threshold; /* ns */
	uint32_t target_delay; /* ns */
};

/* Changes a CC profile. EBUSY: queue pairs use it, or a controller wrote it. */
int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
			      struct mrc_ctl_cc_profile_attr *attr, int attr_mask);

/* Reads what attr_mask names. */
int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
			     struct mrc_ctl_cc_profile_attr *attr, int attr_mask);

/* --- EV events --- */

struct mrc_ctl_ev_event {
	uint64_t profile_id;
	struct mrc_ctl_ev ev;
	uint32_t drop_count; /* events that found no room since the one before */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
	/* What the EV became. A context of an older API version has events without it: see
	   mrc_context_attr.mrc_api_version_used. */
	enum mrc_ctl_ev_state state;
#endif
};

/*
 * A queue of EV events, for which mrc_req_notify_cq, mrc_get_cq_event, mrc_ack_cq_events and
 * mrc_destroy_cq work as for others. It does not overflow: events that find no room are counted.
 * Errors as mrc_create_cq.
 */
struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
					  struct mrc_comp_channel *channel, int comp_vector);

/* Takes up to num_entries events. Returns how many there were, or a negative errno value: -EINVAL,
   -EIO, -EPERM. */
int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries, struct mrc_ctl_ev_event *ev_event);

/* --- Probes and port status, without a queue pair (chapters 6.5.2 and 9) --- */

enum mrc_ctl_ep_op_type {
	MRC_CTL_EP_OP_EV_PROBE = 0,
	MRC_CTL_EP_OP_PORT_STATUS_UPDATE = 1,
};

struct mrc_ctl_ep_req {
	uint16_t req_id;     /* of the caller's choice; unique among those under way */
	union ibv_gid sgid;  /* of this host */
	union ibv_gid dgid;  /* of the peer; both of RoCEv2 */
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct mrc_ctl_ev req_ev; /* the path, and the port it leaves by */
	union {
		struct {
			uint32_t port_status; /* bit n: port n, from 1, is up */
		} port_status_update;
	} op;
};

struct mrc_ctl_ep_rsp {
	uint16_t req_id;
	uint8_t port;         /* that the answer came in by, from 1 */
	unsigned int rtt;     /* ns */
	uint8_t adj_svc_time; /* not 0: rtt has the peer's service time taken off */
};

/*
 * Sends num_req requests with a DSCP of req_tc, and waits for their answers, at most rsp_timeout ns.
 * rsp has room for num_req; num_rsp is how many came, in the order in which they did, also when the
 * call ends with ETIMEDOUT. Batches of other threads with this context wait meanwhile; nothing else
 * does.
 * Further errors: EAGAIN, ENOMEM, ENOTSUP.
 */
int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc,
			       enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req *req,
			       int num_req, uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp,
			       int *num_rsp);

#ifdef __cplusplus
}
#endif

#endif

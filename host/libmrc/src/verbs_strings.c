/* Names and rates, for people. */
#include "verbs.h"

#define NAME(table, at) \
	((size_t)(at) < sizeof(table) / sizeof((table)[0]) && (table)[at] ? (table)[at] : "unknown")

WEFT_API const char *ibv_node_type_str(enum ibv_node_type node_type)
{
	static const char *const names[] = {
		[IBV_NODE_CA] = "channel adapter",
		[IBV_NODE_SWITCH] = "switch",
		[IBV_NODE_ROUTER] = "router",
		[IBV_NODE_RNIC] = "iWARP NIC",
		[IBV_NODE_USNIC] = "usNIC",
		[IBV_NODE_USNIC_UDP] = "usNIC over UDP",
		[IBV_NODE_UNSPECIFIED] = "unspecified",
	};

	return NAME(names, node_type);
}

WEFT_API const char *ibv_port_state_str(enum ibv_port_state port_state)
{
	static const char *const names[] = {
		[IBV_PORT_NOP] = "no change",	     [IBV_PORT_DOWN] = "down",
		[IBV_PORT_INIT] = "init",	     [IBV_PORT_ARMED] = "armed",
		[IBV_PORT_ACTIVE] = "active",	     [IBV_PORT_ACTIVE_DEFER] = "active, deferred",
	};

	return NAME(names, port_state);
}

WEFT_API const char *ibv_event_type_str(enum ibv_event_type event)
{
	static const char *const names[] = {
		[IBV_EVENT_CQ_ERR] = "completion queue in error",
		[IBV_EVENT_QP_FATAL] = "queue pair in error",
		[IBV_EVENT_QP_REQ_ERR] = "invalid request at queue pair",
		[IBV_EVENT_QP_ACCESS_ERR] = "access violation at queue pair",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "send queue drained",
		[IBV_EVENT_PATH_MIG] = "path migrated",
		[IBV_EVENT_PATH_MIG_ERR] = "path migration failed",
		[IBV_EVENT_DEVICE_FATAL] = "device failed",
		[IBV_EVENT_PORT_ACTIVE] = "port up",
		[IBV_EVENT_PORT_ERR] = "port down",
		[IBV_EVENT_LID_CHANGE] = "LID changed",
		[IBV_EVENT_PKEY_CHANGE] = "P_Key table changed",
		[IBV_EVENT_SM_CHANGE] = "subnet manager changed",
		[IBV_EVENT_SRQ_ERR] = "shared receive queue in error",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "shared receive queue at its limit",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last receive of queue pair",
		[IBV_EVENT_CLIENT_REREGISTER] = "clients register anew",
		[IBV_EVENT_GID_CHANGE] = "GID table changed",
		[IBV_EVENT_WQ_FATAL] = "work queue in error",
	};

	return NAME(names, event);
}

WEFT_API const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "success",
		[IBV_WC_LOC_LEN_ERR] = "local length error",
		[IBV_WC_LOC_QP_OP_ERR] = "local operation error of queue pair",
		[IBV_WC_LOC_EEC_OP_ERR] = "local operation error of EE context",
		[IBV_WC_LOC_PROT_ERR] = "local protection error",
		[IBV_WC_WR_FLUSH_ERR] = "flushed",
		[IBV_WC_MW_BIND_ERR] = "memory window not bound",
		[IBV_WC_BAD_RESP_ERR] = "bad response",
		[IBV_WC_LOC_ACCESS_ERR] = "local access error",
		[IBV_WC_REM_INV_REQ_ERR] = "invalid request, says the peer",
		[IBV_WC_REM_ACCESS_ERR] = "access error, says the peer",
		[IBV_WC_REM_OP_ERR] = "operation error, says the peer",
		[IBV_WC_RETRY_EXC_ERR] = "retries used up",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retries used up",
		[IBV_WC_LOC_RDD_VIOL_ERR] = "local RD domain violated",
		[IBV_WC_REM_INV_RD_REQ_ERR] = "invalid RD request, says the peer",
		[IBV_WC_REM_ABORT_ERR] = "aborted by the peer",
		[IBV_WC_INV_EECN_ERR] = "invalid EE context number",
		[IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
		[IBV_WC_FATAL_ERR] = "fatal error",
		[IBV_WC_RESP_TIMEOUT_ERR] = "no response in time",
		[IBV_WC_GENERAL_ERR] = "general error",
		[IBV_WC_TM_ERR] = "tag matching error",
		[IBV_WC_TM_RNDV_INCOMPLETE] = "tag matching: rendezvous incomplete",
	};

	return NAME(names, status);
}

/* --- Rates --- */

static const struct {
	enum ibv_rate rate;
	int mult; /* of 2.5 Gb/s; 0: none */
	int mbps;
} rates[] = {
	{ IBV_RATE_2_5_GBPS, 1, 2500 },	    { IBV_RATE_5_GBPS, 2, 5000 },
	{ IBV_RATE_10_GBPS, 4, 10000 },	    { IBV_RATE_20_GBPS, 8, 20000 },
	{ IBV_RATE_30_GBPS, 12, 30000 },    { IBV_RATE_40_GBPS, 16, 40000 },
	{ IBV_RATE_60_GBPS, 24, 60000 },    { IBV_RATE_80_GBPS, 32, 80000 },
	{ IBV_RATE_120_GBPS, 48, 120000 },  { IBV_RATE_14_GBPS, 0, 14062 },
	{ IBV_RATE_56_GBPS, 0, 56250 },	    { IBV_RATE_112_GBPS, 0, 112500 },
	{ IBV_RATE_168_GBPS, 0, 168750 },   { IBV_RATE_25_GBPS, 10, 25781 },
	{ IBV_RATE_100_GBPS, 40, 103125 },  { IBV_RATE_200_GBPS, 80, 206250 },
	{ IBV_RATE_300_GBPS, 120, 309375 }, { IBV_RATE_28_GBPS, 11, 28125 },
	{ IBV_RATE_50_GBPS, 20, 53125 },    { IBV_RATE_400_GBPS, 160, 425000 },
	{ IBV_RATE_600_GBPS, 240, 637500 },
};

#define RATES (sizeof(rates) / sizeof(rates[0]))

WEFT_API int ibv_rate_to_mult(enum ibv_rate rate)
{
	for (size_t i = 0; i < RATES; i++)
		if (rates[i].rate == rate && rates[i].mult)
			return rates[i].mult;
	return -1;
}

WEFT_API enum ibv_rate mult_to_ibv_rate(int mult)
{
	for (size_t i = 0; i < RATES; i++)
		if (rates[i].mult == mult && mult)
			return rates[i].rate;
	return IBV_RATE_MAX;
}

WEFT_API int ibv_rate_to_mbps(enum ibv_rate rate)
{
	for (size_t i = 0; i < RATES; i++)
		if (rates[i].rate == rate)
			return rates[i].mbps;
	return -1;
}

WEFT_API enum ibv_rate mbps_to_ibv_rate(int mbps)
{
	for (size_t i = 0; i < RATES; i++)
		if (rates[i].mbps == mbps)
			return rates[i].rate;
	return IBV_RATE_MAX;
}

/* Control of the device and its ports. */
#define _GNU_SOURCE
#include <string.h>

#include "mrc_internal.h"

void mrc_ctl_query_version(uint32_t *current_version, uint32_t *last_supported_version,
			   uint32_t *vendor_version, uint32_t *last_supported_vendor_version)
{
	if (current_version)
		*current_version = MRC_CTL_API_CURRENT_VERSION;
	if (last_supported_version)
		*last_supported_version = MRC_CTL_API_LAST_SUPPORTED_VERSION;
	if (vendor_version)
		*vendor_version = MRC_CTL_VENDOR_API_CURRENT_VERSION;
	if (last_supported_vendor_version)
		*last_supported_vendor_version = MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION;
}

static const char *algorithms[] = { "uet-1.0-nscc", NULL };

int mrc_ctl_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			    struct mrc_ctl_device_attr *ctl_attr, int *supported)
{
	struct nic_ctl_device d;
	struct weft_call call = { .op = NIC_CTL_DEVICE, .answer = &d, .answer_size = sizeof(d) };
	struct weft_conn *conn;
	int error;

	(void)mcontext;
	if (!context || !ctl_attr || !supported)
		return weft_failure(EINVAL);
	memset(ctl_attr, 0, sizeof(*ctl_attr));
	*supported = 0;
	conn = mrc_connection(context);
	if (!conn)
		return 0;
	error = weft_call(conn, &call);
	weft_release(conn);
	if (error)
		return weft_failure(error);
	ctl_attr->mrc_ctl_protocol_version = d.protocol_version;
	ctl_attr->ev.ev_max_fmt_profiles = d.ev_max_fmt_profiles;
	ctl_attr->ev.ev_max_profiles = d.ev_max_profiles;
	ctl_attr->ev.ev_max_count = d.ev_max_count;
	ctl_attr->ev.ev_free_count = d.ev_free_count;
	ctl_attr->ev.ev_max_count_profile = d.ev_max_count_profile;
	ctl_attr->ev.ev_count_align = d.ev_count_align;
	ctl_attr->ev.ev_max_width = d.ev_max_width;
	ctl_attr->ev.ev_fmt_mode_mask = d.ev_fmt_mode_mask;
	ctl_attr->ev.ev_mode_mask = d.ev_mode_mask;
	ctl_attr->ev.ev_op_max_entries = d.ev_op_max_entries;
	ctl_attr->cc.cc_max_profiles = d.cc_max_profiles;
	ctl_attr->cc.algorithms = algorithms;
	ctl_attr->phy_port_mask = d.port_mask;
	ctl_attr->opt_attr = d.opt;
	*supported = 1;
	return 0;
}

int mrc_ctl_query_device(struct ibv_context *context, struct mrc_ctl_device_attr *ctl_attr)
{
	int supported, result = mrc_ctl_query_device_ex(context, NULL, ctl_attr, &supported);

	return result ? result : weft_failure(supported ? 0 : EOPNOTSUPP);
}

int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
		       struct mrc_ctl_port_attr *attr, int attr_mask)
{
	struct nic_object object = { .handle = port_num };
	struct nic_ctl_port p;
	int error;

	if (!context || !attr || (attr_mask & ~MRC_CTL_PORT_ADMIN_STATE))
		return weft_failure(EINVAL);
	error = mrc_exchange(context, NIC_CTL_QUERY_PORT, &object, sizeof(object), &p, sizeof(p));
	if (!error && (attr_mask & MRC_CTL_PORT_ADMIN_STATE))
		attr->port_admin_state = p.state;
	return weft_failure(error);
}

int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
			struct mrc_ctl_port_attr *attr, int attr_mask)
{
	struct nic_ctl_port p = { .port = port_num, .mask = (uint32_t)attr_mask };

	if (!context || !attr || (attr_mask & ~MRC_CTL_PORT_ADMIN_STATE))
		return weft_failure(EINVAL);
	p.state = attr->port_admin_state;
	if (p.state != MRC_CTL_PORT_ADMIN_DISABLED && p.state != MRC_CTL_PORT_ADMIN_ENABLED)
		return weft_failure(EINVAL);
	return weft_failure(mrc_exchange(context, NIC_CTL_MODIFY_PORT, &p, sizeof(p), NULL, 0));
}

/* Control of EV format profiles. */
#define _GNU_SOURCE
#include <string.h>

#include "mrc_internal.h"

#define FORMAT_ALL (MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE | \
		    MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP |         \
		    MRC_CTL_EV_FMT_VENDOR_CFG)

/* Reads the fields of a profile into an array: E2BIG, with how many there are, if they do not fit. */
static int take_fields(const struct nic_format *f, struct mrc_ctl_ev_fmt_profile_attr *attr)
{
	int room = attr->ev_fmt_op.fmt_field_count;

	if (f->fields > NIC_MAX_FIELDS)
		return EIO;
	if (room < 0 || (room && !attr->ev_fmt_op.fmt_fields))
		return EINVAL;
	attr->ev_fmt_op.fmt_field_count = (int)f->fields;
	if ((uint32_t)room < f->fields)
		return E2BIG;
	for (uint32_t i = 0; i < f->fields; i++)
		attr->ev_fmt_op.fmt_fields[i].width = f->width[i];
	return 0;
}

static int query(struct mrc_context *context, uint64_t id, struct nic_format *f)
{
	struct nic_object object = { .handle = id };

	return mrc_exchange(context, NIC_CTL_QUERY_FORMAT, &object, sizeof(object), f, sizeof(*f));
}

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
	struct nic_format f = { .id = ev_fmt_profile_id, .mask = (uint32_t)attr_mask };
	bool reads = false;
	int error = 0;

	if (!mrc_ctx || !attr || (attr_mask & ~FORMAT_ALL))
		return weft_failure(EINVAL);
	f.state = attr->profile_state;
	f.cur_state = attr->cur_profile_state;
	f.mode = attr->ev_fmt_mode;
	memcpy(f.vendor, attr->vendor_cfg, sizeof(f.vendor));
	if (attr_mask & MRC_CTL_EV_FMT_PROFILE_OP) {
		int count = attr->ev_fmt_op.fmt_field_count;

		f.op = attr->ev_fmt_op.op;
		reads = f.op == MRC_CTL_EV_FMT_OP_QUERY_FIELDS;
		if (count < 0 || (count && !attr->ev_fmt_op.fmt_fields) ||
		    (!reads && f.op != MRC_CTL_EV_FMT_OP_MODIFY_FIELDS))
			return weft_failure(EINVAL);
		if (reads) {
			f.mask &= ~(uint32_t)MRC_CTL_EV_FMT_PROFILE_OP;
		} else {
			if (count > NIC_MAX_FIELDS)
				return weft_failure(E2BIG);
			f.fields = (uint32_t)count;
			for (int i = 0; i < count; i++)
				f.width[i] = attr->ev_fmt_op.fmt_fields[i].width;
		}
	}
	/* A call that only reads fields changes nothing. */
	if (f.mask || !reads)
		error = mrc_exchange(mrc_ctx, NIC_CTL_MODIFY_FORMAT, &f, sizeof(f), NULL, 0);
	if (!error && reads) {
		error = query(mrc_ctx, ev_fmt_profile_id, &f);
		if (!error)
			error = take_fields(&f, attr);
	}
	return weft_failure(error);
}

int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
	struct nic_format f;
	int error;

	if (!mrc_ctx || !attr || (attr_mask & ~FORMAT_ALL))
		return weft_failure(EINVAL);
	if ((attr_mask & MRC_CTL_EV_FMT_PROFILE_OP) &&
	    attr->ev_fmt_op.op != MRC_CTL_EV_FMT_OP_QUERY_FIELDS)
		return weft_failure(EINVAL);
	error = query(mrc_ctx, ev_fmt_profile_id, &f);
	if (error)
		return weft_failure(error);
	if (attr_mask & MRC_CTL_EV_FMT_PROFILE_STATE)
		attr->profile_state = f.state;
	if (attr_mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE)
		attr->cur_profile_state = f.state;
	if (attr_mask & MRC_CTL_EV_FMT_PROFILE_MODE)
		attr->ev_fmt_mode = f.mode;
	if (attr_mask & MRC_CTL_EV_FMT_VENDOR_CFG)
		memcpy(attr->vendor_cfg, f.vendor, sizeof(attr->vendor_cfg));
	if (attr_mask & MRC_CTL_EV_FMT_PROFILE_OP)
		error = take_fields(&f, attr);
	return weft_failure(error);
}

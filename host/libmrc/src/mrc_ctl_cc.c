/* Control of CC profiles. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "mrc_internal.h"

#define CC_ALL (MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE |      \
		MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG |     \
		MRC_CTL_CC_PROFILE_VENDOR_CFG)

/* What a query of a profile points at. One for each profile that was queried. */
struct mrc_cc_answer {
	struct mrc_cc_answer *next;
	uint64_t id;
	char algorithm[sizeof(((struct nic_cc *)0)->algorithm) + 1];
	struct mrc_ctl_cc_nscc_cfg config;
};

static struct mrc_cc_answer *answer_of(struct mrc_context *context, uint64_t id)
{
	struct mrc_cc_answer *a;

	for (a = context->cc; a; a = a->next)
		if (a->id == id)
			return a;
	a = calloc(1, sizeof(*a));
	if (a) {
		a->id = id;
		a->next = context->cc;
		context->cc = a;
	}
	return a;
}

void mrc_ctl_forget(struct mrc_context *context)
{
	while (context->cc) {
		struct mrc_cc_answer *a = context->cc;

		context->cc = a->next;
		free(a);
	}
}

int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
			      struct mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
	struct nic_cc c = { .id = cc_profile_id, .mask = (uint32_t)attr_mask };

	if (!mrc_ctx || !attr || (attr_mask & ~CC_ALL))
		return weft_failure(EINVAL);
	c.state = attr->profile_state;
	c.cur_state = attr->cur_profile_state;
	memcpy(c.vendor, attr->vendor_cfg, sizeof(c.vendor));
	if ((attr_mask & MRC_CTL_CC_PROFILE_ALGORITHM) && attr->algorithm) {
		size_t n = strlen(attr->algorithm);

		if (n == 0 || n >= sizeof(c.algorithm))
			return weft_failure(EINVAL);
		memcpy(c.algorithm, attr->algorithm, n);
	}
	if (attr_mask & MRC_CTL_CC_PROFILE_CONFIG) {
		const struct mrc_ctl_cc_nscc_cfg *config = attr->cc_config;

		if (!config)
			return weft_failure(EINVAL);
		c.disable_qa = config->disable_qa;
		c.adjust_bytes_threshold = config->adjust_bytes_threshold;
		c.adjust_period_threshold = config->adjust_period_threshold;
		c.base_rtt = config->base_rtt;
		c.eta = config->eta;
		c.fi = config->fi;
		c.fi_scale = config->fi_scale;
		c.gamma = config->gamma;
		c.max_md_jump = config->max_md_jump;
		c.max_cwnd = config->max_cwnd;
		c.qa_gate = config->qa_gate;
		c.qa_threshold = config->qa_threshold;
		c.target_delay = config->target_delay;
	}
	return weft_failure(mrc_exchange(mrc_ctx, NIC_CTL_MODIFY_CC, &c, sizeof(c), NULL, 0));
}

int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
			     struct mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
	struct nic_object object = { .handle = cc_profile_id };
	struct mrc_cc_answer *a;
	struct nic_cc c;
	int error;

	if (!mrc_ctx || !attr || (attr_mask & ~CC_ALL))
		return weft_failure(EINVAL);
	error = mrc_exchange(mrc_ctx, NIC_CTL_QUERY_CC, &object, sizeof(object), &c, sizeof(c));
	if (error)
		return weft_failure(error);
	pthread_mutex_lock(&mrc_ctx->lock);
	a = answer_of(mrc_ctx, cc_profile_id);
	if (a) {
		memcpy(a->algorithm, c.algorithm, sizeof(c.algorithm));
		a->config = (struct mrc_ctl_cc_nscc_cfg){
			.disable_qa = (uint8_t)c.disable_qa,
			.adjust_bytes_threshold = c.adjust_bytes_threshold,
			.adjust_period_threshold = c.adjust_period_threshold,
			.base_rtt = c.base_rtt,
			.eta = c.eta,
			.fi = c.fi,
			.fi_scale = c.fi_scale,
			.gamma = c.gamma,
			.max_md_jump = c.max_md_jump,
			.max_cwnd = c.max_cwnd,
			.qa_gate = (uint8_t)c.qa_gate,
			.qa_threshold = c.qa_threshold,
			.target_delay = c.target_delay,
		};
	}
	pthread_mutex_unlock(&mrc_ctx->lock);
	if (!a)
		return weft_failure(ENOMEM);
	if (attr_mask & MRC_CTL_CC_PROFILE_STATE)
		attr->profile_state = c.state;
	if (attr_mask & MRC_CTL_CC_PROFILE_CUR_STATE)
		attr->cur_profile_state = c.state;
	if (attr_mask & MRC_CTL_CC_PROFILE_ALGORITHM)
		attr->algorithm = a->algorithm[0] ? a->algorithm : NULL;
	if (attr_mask & MRC_CTL_CC_PROFILE_CONFIG)
		attr->cc_config = &a->config;
	if (attr_mask & MRC_CTL_CC_PROFILE_VENDOR_CFG)
		memcpy(attr->vendor_cfg, c.vendor, sizeof(attr->vendor_cfg));
	return 0;
}

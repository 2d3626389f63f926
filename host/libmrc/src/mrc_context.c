/* Versions, device and context of MRC. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "mrc_internal.h"

/* Undefined when the libibverbs.so.1 of the process is not ours. */
extern weft_connection_fn weft_nic_connection __attribute__((weak, visibility("default")));

struct weft_conn *mrc_connection(struct ibv_context *context)
{
	struct weft_conn *conn;

	if (!weft_nic_connection) {
		weft_debug("the libibverbs.so.1 of this process is not the one beside lib_mrc.so");
		return NULL;
	}
	conn = weft_nic_connection(context);
	if (!conn) {
		weft_debug("the context is not of a device of weft nic");
		return NULL;
	}
	if (conn->size != sizeof(*conn)) {
		weft_debug("libibverbs.so.1 and lib_mrc.so are not of one build");
		weft_release(conn);
		return NULL;
	}
	return conn;
}

void mrc_query_version(uint32_t *current_version, uint32_t *last_supported_version,
		       uint32_t *vendor_version, uint32_t *last_supported_vendor_version)
{
	if (current_version)
		*current_version = MRC_API_CURRENT_VERSION;
	if (last_supported_version)
		*last_supported_version = MRC_API_LAST_SUPPORTED_VERSION;
	if (vendor_version)
		*vendor_version = MRC_VENDOR_API_CURRENT_VERSION;
	if (last_supported_vendor_version)
		*last_supported_vendor_version = MRC_VENDOR_API_LAST_SUPPORTED_VERSION;
}

int mrc_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
			struct mrc_device_attr *attr, int *supported)
{
	struct weft_conn *conn;
	int error;

	(void)mcontext;
	if (!context || !attr || !supported)
		return weft_failure(EINVAL);
	memset(attr, 0, sizeof(*attr));
	*supported = 0;
	conn = mrc_connection(context);
	if (!conn)
		return 0;
	error = weft_owned(conn);
	if (!error && weft_dead(conn, true))
		error = EIO;
	if (!error) {
		const struct nic_device *d = &conn->device;

		attr->mrc_protocol_version = MRC_PROTOCOL_VERSION_1;
		attr->wimm_attr.max_wimm = (uint16_t)d->max_wimm;
		attr->wimm_attr.max_wimm_dest = (uint16_t)d->max_wimm_dest;
		attr->mpr_attr.max_mpr = (uint8_t)d->max_mpr;
		attr->mpr_attr.mpr_resolution = (uint8_t)d->mpr_resolution;
		attr->qp_attr.max_qp_hint = d->max_hint;
		attr->cap = d->cap;
		*supported = 1;
	}
	weft_release(conn);
	return weft_failure(error);
}

int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr, int *supported)
{
	return mrc_query_device_ex(context, NULL, attr, supported);
}

static bool too_new(uint32_t used, uint32_t newest)
{
	return used > newest && used != (uint32_t)MRC_API_VER(0xFFu, 0xFFu, 0xFFFFu);
}

struct mrc_context *mrc_create_context(struct ibv_context *vcontext,
				       struct mrc_context_attr *context_attr)
{
	struct mrc_context *context;
	int error;

	if (!vcontext)
		return weft_null(EINVAL);
	if (context_attr &&
	    (too_new(context_attr->mrc_api_version_used, MRC_API_CURRENT_VERSION) ||
	     too_new(context_attr->mrc_vendor_api_version_used, MRC_VENDOR_API_CURRENT_VERSION)))
		return weft_null(EINVAL);
	context = calloc(1, sizeof(*context));
	if (!context)
		return weft_null(ENOMEM);
	context->conn = mrc_connection(vcontext);
	if (!context->conn) {
		free(context);
		return weft_null(EOPNOTSUPP);
	}
	if (context_attr)
		context->api_version = context_attr->mrc_api_version_used;
	error = weft_owned(context->conn);
	if (!error && weft_dead(context->conn, true))
		error = EIO;
	if (!error)
		error = weft_inbox_open(context->conn, &context->inbox);
	if (error) {
		weft_release(context->conn);
		free(context);
		return weft_null(error);
	}
	pthread_mutex_init(&context->lock, NULL);
	return context;
}

int mrc_destroy_context(struct mrc_context *mrc_ctx)
{
	int error;

	if (!mrc_ctx)
		return weft_failure(EINVAL);
	error = weft_owned(mrc_ctx->conn);
	while (!error && mrc_ctx->qps)
		error = mrc_destroy_qp(mrc_ctx->qps);
	while (!error && mrc_ctx->hints)
		error = mrc_destroy_qp_hint(mrc_ctx->hints) ? errno : 0;
	while (!error && mrc_ctx->cqs)
		error = mrc_destroy_cq(mrc_ctx->cqs);
	while (!error && mrc_ctx->channels)
		error = mrc_destroy_comp_channel(mrc_ctx->channels);
	if (error)
		return weft_failure(error);
	mrc_ctl_forget(mrc_ctx);
	weft_inbox_close(mrc_ctx->conn, &mrc_ctx->inbox);
	if (mrc_ctx->probes)
		weft_release(mrc_ctx->probes);
	weft_release(mrc_ctx->conn);
	pthread_mutex_destroy(&mrc_ctx->lock);
	free(mrc_ctx);
	return 0;
}

int mrc_exchange(struct mrc_context *context, uint32_t op, const void *body, size_t body_size,
		 void *answer, size_t answer_size)
{
	struct weft_call call = { .op = op, .body = body, .body_size = body_size,
				  .answer = answer, .answer_size = answer_size };

	return weft_call(context->conn, &call);
}

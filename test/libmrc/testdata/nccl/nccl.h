/*
 * What an NCCL network plugin takes from nccl.h and from the CUDA headers, for machines without
 * either: types, and the numbers that cross the interface of plugins.
 */
#ifndef WEFT_NCCL_H
#define WEFT_NCCL_H

typedef enum {
	ncclSuccess,
	ncclUnhandledCudaError,
	ncclSystemError,
	ncclInternalError,
	ncclInvalidArgument,
	ncclInvalidUsage,
	ncclRemoteError,
	ncclInProgress,
} ncclResult_t;

typedef int ncclDataType_t;
typedef int ncclRedOp_t;

typedef enum { cudaSuccess } cudaError_t;

#endif

// Package resource is the one engine behind all kinds of resources: names,
// versions, preconditions and the records that outlive the controller.
//
// A [Collection] holds the resources of one kind, and returns the records to write. By a [Written],
// clients read and change a collection, and a feature decides. All collections in a core share one
// [Versions], so no two changes get one version.
//
// The rules follow conditional requests (RFC 9110 section 13), and every kind answers alike. The
// package does not interpret specifications.
package resource

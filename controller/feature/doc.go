// Package feature is the seam between the controller and its features.
//
// A [Feature] is a part of the controller that makes resources of its own, or what
// it learns, into entities of switches: the underlay, multicast groups, tenants
// with PFC policies. The controller composes features and knows none of their
// details, and features do not import each other. What they share is in [Env].
//
// Everything is synchronous. The controller calls a feature with what has changed,
// then Settle of all features until none has more to do, then Report.
package feature

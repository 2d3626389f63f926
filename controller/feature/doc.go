// Package feature is the seam between the controller and its features.
//
// A [Feature] is a part of the controller that turns resources or learned facts into entities of
// switches: the underlay, multicast groups, tenants with PFC policies. The controller
// composes features (controller/features.go), and features do not import each other. Features share
// data in [Env].
//
// Everything is synchronous. The controller calls a feature with a change, then calls Settle of all
// features until no feature has work left, then calls Report.
package feature

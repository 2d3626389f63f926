// Package hostapi is the contract between a controller and the hosts of an MRC fabric: what a host
// should hold ([State]: EV profiles with their denials, CC profiles, port masks), how one state
// becomes another ([Diff], [State.Apply]), what a host reports about itself ([Capabilities],
// [EVEvent], [EVCount], [ProbeResult]), and all of it as the messages of host.proto.
//
// Everything here is a value: a State and what it points to is never changed once it is made, so
// that hosts share what they have in common, and two states are compared by what they share first.
// Names and limits are those of the public controller API of the MRC library, mrc_ctl.h.
// docs/host-api.md has the rules of the stream.
//
// The package opens no stream and keeps nothing: southbound/hosts is the controller's end,
// endpoint/agent the host's.
package hostapi

//go:generate go run ./gen

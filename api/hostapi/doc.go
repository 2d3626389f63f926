// Package hostapi is the contract between a controller and the hosts of an MRC fabric: what a host
// should hold ([State]: EV profiles with their denials, CC profiles, port masks), how one state
// becomes another ([Diff], [State.Apply]), what a host reports about itself ([Capabilities],
// [EVEvent], [EVCount], [ProbeResult]), and all of it as the messages of host.proto.
//
// All types here are values: a State and everything behind its pointers never change once made, so
// hosts share common parts, and comparing two states starts with the shared parts. Names and limits
// follow mrc_ctl.h, the public controller API of the MRC library. docs/host-api.md describes the
// rules of the stream.
//
// The package opens no stream and stores nothing: southbound/hosts implements the controller's end,
// host/agent the host's end.
package hostapi

//go:generate go run ./gen

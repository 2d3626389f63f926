package api

import "net/netip"

// GroupState is what the switches of a group know about its branches.
type GroupState struct {
	Group    string           `json:"group"`
	Epoch    uint32           `json:"epoch" doc:"Epoch of the tree; a branch of another epoch is not valid."`
	Nodes    []GroupNodeState `json:"nodes" doc:"In the order of the tree."`
	Complete bool             `json:"complete" doc:"Every switch answered in time."`
}

// GroupNodeState is the state of a group in one switch.
type GroupNodeState struct {
	Switch   string             `json:"switch"`
	Answered bool               `json:"answered" doc:"False when nothing is known of the node."`
	LastPSN  int64              `json:"lastPsn" doc:"Everything before it was acknowledged upstream; -1 when unknown."`
	CNPTotal uint32             `json:"cnpTotal" doc:"CNPs sent upstream."`
	Branches []GroupBranchState `json:"branches"`
}

// GroupBranchState is the state of one branch.
type GroupBranchState struct {
	Index      uint8      `json:"index"`
	Child      string     `json:"child,omitempty" doc:"The child node, when the branch is one."`
	Receiver   netip.Addr `json:"receiver,omitzero" doc:"The receiver, when the branch is one."`
	Answered   bool       `json:"answered"`
	Valid      bool       `json:"valid" doc:"The branch has reported in this epoch."`
	AckPSN     int64      `json:"ackPsn" doc:"The branch has everything up to here; -1 when unknown."`
	EPSN       int64      `json:"ePsn" doc:"The PSN the branch expects next: ackPsn + 1 modulo 2^24; -1 when unknown."`
	NAKPending bool       `json:"nakPending" doc:"The branch asked for ePsn again and has not acknowledged it."`
	RNRTimer   *uint8     `json:"rnrTimer,omitempty" doc:"Timer code, when it was not ready."`
	MSN        uint32     `json:"msn"`
	CNPCount   uint32     `json:"cnpCount" doc:"CNPs of the branch in the window that is open, or was last."`
	Epoch      uint32     `json:"epoch" doc:"Epoch of the branch's registers."`
}

package api

import (
	"encoding/json"
	"time"
)

// AuditRecord is the audit log's record of one request. Field names follow gNSI acctz
// (openconfig/gnsi, acctz.proto, RecordResponse) where acctz defines the field.
type AuditRecord struct {
	// Chain and Seq locate the record: each chain numbers its records from 1.
	Chain          string       `json:"chain" doc:"Chain of the record."`
	Seq            uint64       `json:"seq" doc:"Its number in the chain."`
	Timestamp      time.Time    `json:"timestamp" doc:"When the request was made."`
	SessionInfo    AuditSession `json:"sessionInfo" doc:"Who made it, and from where."`
	ServiceRequest AuditRequest `json:"serviceRequest" doc:"What was asked."`
	Outcome        AuditOutcome `json:"outcome" enum:"success,failure" doc:"Outcome of the request."`
	Status         int          `json:"status" doc:"HTTP status of a failure; 0: success."`
	Detail         string       `json:"detail,omitempty" doc:"Why it failed."`
	// Before and After hold the specs of the resource; absent: no resource before or after the change.
	Before json.RawMessage `json:"before,omitempty" doc:"Spec of the resource before the change; absent: there was none. One of more than 64 KiB is replaced by its size and SHA-256."`
	After  json.RawMessage `json:"after,omitempty" doc:"Spec of the resource after the change; absent: there is none."`
	// Suppressed counts records of failures that were left out before this one.
	Suppressed uint64 `json:"suppressed,omitempty" doc:"Failures before this one that were counted and not recorded, because there were too many at once."`
	// Previous is the preceding record's hash, Hash this record's hash.
	Previous string `json:"previous" doc:"Hash of the record before it in the chain."`
	Hash     string `json:"hash" doc:"SHA-256 of the record, without this field."`
}

// AuditOutcome is the outcome of a request.
type AuditOutcome string

// The outcomes.
const (
	AuditSuccess AuditOutcome = "success"
	AuditFailure AuditOutcome = "failure"
)

// AuditSession is who made a request, and from where (acctz: SessionInfo).
type AuditSession struct {
	RemoteAddress string     `json:"remoteAddress,omitempty" doc:"Address of the client."`
	RemotePort    uint16     `json:"remotePort,omitempty" doc:"Port of the client."`
	ChannelID     string     `json:"channelId" doc:"Id of the request, X-Request-Id of the answer."`
	ComponentName string     `json:"componentName,omitempty" doc:"Controller that took the request."`
	User          AuditUser  `json:"user" doc:"Principal."`
	Authn         AuditAuthn `json:"authn" doc:"Way of authentication."`
}

// AuditUser is a principal (acctz: UserDetail).
type AuditUser struct {
	Identity string `json:"identity" doc:"Name of the principal; of a failed sign-in the name that was given."`
	Role     string `json:"role,omitempty" doc:"Its role; of a tenant with the name: tenant/acme."`
}

// AuditAuthn is how a principal has shown who it is (acctz: AuthnDetail).
type AuditAuthn struct {
	Type   Way    `json:"type,omitempty" doc:"Way of the credentials."`
	Status string `json:"status" enum:"SUCCESS,FAIL" doc:"Whether they were good."`
	Cause  string `json:"cause,omitempty" doc:"Why they were not."`
}

// AuditRequest is what a request asked (acctz: GrpcService, for REST).
type AuditRequest struct {
	RPCName string     `json:"rpcName,omitempty" doc:"Id of the operation in the OpenAPI document."`
	Method  string     `json:"method" doc:"Method of HTTP."`
	Path    string     `json:"path" doc:"Path, and with it the resource."`
	Authz   AuditAuthz `json:"authz" doc:"Whether the principal may do it."`
}

// AuditAuthz is whether a principal may do what it asked (acctz: AuthzDetail).
type AuditAuthz struct {
	Status string `json:"status" enum:"PERMIT,DENY" doc:"Whether it may."`
	Detail string `json:"detail,omitempty" doc:"Why it may not."`
}

// AuditChain is a chain of records of the audit log.
type AuditChain struct {
	Name string `json:"name" doc:"Name of the chain."`
	// NewestSeq and NewestHash are the number and hash of its newest record.
	NewestSeq  uint64 `json:"newestSeq" doc:"Number of the newest record; 0: there has been none."`
	NewestHash string `json:"newestHash" doc:"Hash of the newest record. Noted elsewhere, it proves later that no record before it was changed."`
	// PrunedSeq and PrunedHash identify the newest record removed for its age or for room.
	PrunedSeq  uint64 `json:"prunedSeq" doc:"Number of the newest record that was removed, for its age or for room; 0: none was."`
	PrunedHash string `json:"prunedHash" doc:"Hash of that record, which the oldest kept record repeats."`
	// NotedSeq and NotedHash identify the newest record that the cluster noted outside of the chain.
	NotedSeq  uint64 `json:"notedSeq" doc:"Number of the newest record that the cluster has noted, apart from the chain; 0: none yet. A chain that ends before it was cut short."`
	NotedHash string `json:"notedHash" doc:"Hash of that record."`
}

// Package access knows who may do what at the API. An [Authenticator] finds the [Principal] of a
// request from its credentials: a token of the file of tokens, a token made by the API, the cookie
// of a session, or a client certificate. A [Principal] has a role, and a role has [Scope]s; each
// operation of the API asks for one scope. A [Keeper] changes users, tokens and sessions. Both work
// on a [Directory], which keeps them in the store.
//
// The package neither serves HTTP nor knows the operations: package northbound does.
package access

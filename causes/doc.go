// Package causes finds what is wrong in a network, and why: a lost switch or a link that is down
// explains the BGP-LS session, profiles, groups and tenants that depend on it.
//
//	Known     what the API says of the network now                 known.go
//	findings  each thing that is not as it should be               controller.go, switch.go, link.go,
//	                                                               service.go
//	Find      the findings that nothing else explains              find.go
//	Steady    the same, in the places that they had                steady.go
//	Watcher   looks again when something has changed               watcher.go
//
// All but Watcher are pure functions of what is known.
package causes

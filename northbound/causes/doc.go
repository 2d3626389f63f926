// Package causes finds faults in a network and their causes: for example, a lost switch or a failed
// link explains faults of the dependent BGP-LS session, profiles, groups and tenants.
//
//	Known     what the API says of the network now                 known.go
//	findings  each thing that is not as it should be               controller.go, switch.go, link.go,
//	                                                               service.go
//	Find      the findings that nothing else explains              find.go
//	Steady    the same, in the places that they had                steady.go
//	Watcher   looks again when something has changed               watcher.go
//
// All but Watcher are pure functions of the known state.
package causes

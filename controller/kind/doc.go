// Package kind describes kinds of resources as data, and has the one way to reach their resources.
//
// A [Kind] has the names of a kind, the scopes that its operations ask for, and what their
// documentation says. It has no type parameters, so that one list holds all kinds; [New] makes it
// from the types of the spec and of the view. A controller binds a [Handle] to it with [Bind].
// Whoever offers resources to clients walks the list, and needs no code for a single kind.
package kind

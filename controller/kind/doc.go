// Package kind describes kinds of resources as data, and gives uniform access to the resources.
//
// A [Kind] holds the names of a kind, the scopes that the operations require, and the documentation
// of the operations. Kind has no type parameters, so one list holds all kinds. [New] makes a Kind
// from the types of the spec and of the view. A controller binds a [Handle] to a Kind with [Bind].
// Code that offers resources to clients walks the list, and needs no code for a single kind.
package kind

// Package api defines the types of the REST API: resources with the client's spec and the
// controller's status, conditions, errors and dry runs, and the rules for specs.
//
// Validation is a pure function of a spec and of the known network. A refusal is an [Error] that
// names every faulty field, its value, the correct form, and the exceeded limit. The package knows
// neither switches nor tables.
package api

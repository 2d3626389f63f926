// Package northboundtest has what tests of the API and of its clients share: a
// controller that programs nothing.
package northboundtest

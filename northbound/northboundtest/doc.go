// Package northboundtest has a controller that programs nothing, for tests of the API and of its
// clients.
package northboundtest

// Package service is the controller as it runs: the BGP-LS collector, the sessions to the switches,
// the controller and the API, put together. "weft controller" runs one, and so does the lab.
package service

// Package mrc tests the controller of an MRC fabric as it runs, in virtual time: the controller of
// the switches and that of the hosts, embedded switches behind their P4Runtime servers, and
// software hosts behind their streams, with packets between them.
package mrc

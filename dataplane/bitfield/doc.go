// Package bitfield reads and writes runs of bits: in octets, where bit 0 is the most significant
// bit of the first octet, as protocols number them, and in 64-bit words, the least significant word
// first. Values of any width are handled; no function allocates unless it returns a slice.
package bitfield

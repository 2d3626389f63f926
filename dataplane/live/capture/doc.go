// Package capture looks at the frames of a port on their way in and out: a [Tap]
// is a live.Port around another, and a [File] takes frames to a pcap file.
package capture

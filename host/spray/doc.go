// Package spray chooses the entropy value of every packet of an MRC queue pair (OCP MRC 1.0, §9.3
// and §11.2), so that its packets take all paths to their destination alike and keep off those that
// are congested, bad, or denied.
//
// A Set is the mrc.Sprayer of a queue pair: the entropy values of its profile with the states of
// table 9-3. Next takes the next value of the rotation, Feedback reports the fate of packets, and
// Probe returns doubtful values to probe. When the controller denies values or replaces the
// profile, or a port goes down, a Set continues with the remaining values. Without remaining
// values, Usable returns 0 and Next returns no path; a Set never invents a value.
//
//	set, err := spray.New(spray.DefaultConfig(seed), spray.Profile{EVs: evs, MinActive: 4})
//
// A profile has no weights: a path that should get more traffic has more values. A Set has no
// clock, does not allocate for sent or answered packets, and is not safe for concurrent use.
package spray

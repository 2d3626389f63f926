// Package spray chooses the entropy value of every packet of an MRC queue pair (OCP MRC 1.0, §9.3
// and §11.2), so that its packets take all paths to their destination alike and keep off those that
// are congested, bad, or denied.
//
// A Set is the mrc.Sprayer of one queue pair: the entropy values of its profile with the states of
// table 9-3. Next takes the next value of the rotation, Feedback says what became of packets, Probe
// which values in doubt to probe. When the controller denies values or replaces the profile, or a
// port goes down, a Set goes on with what is left; when nothing is left it says so (Usable is 0,
// Next gives none), and never invents one.
//
//	set, err := spray.New(spray.DefaultConfig(seed), spray.Profile{EVs: evs, MinActive: 4})
//
// There are no weights: paths that should get more have more values. A Set has no clock, does not
// allocate when packets are sent or answered, and is not safe for concurrent use.
package spray

// Package selfprobe plans the probes that hosts send to themselves through their switches, and
// concludes from their fate which link, switch or cable loses packets. It is pure: no goroutine,
// clock, socket or logger.
//
//	plan := selfprobe.Make(f, hosts, 3)    // which host probes what; plan.Gaps: what nobody can
//	j := selfprobe.NewJudge()
//	c := j.Change(f, plan)                 // c.Add for each host
//	j.Use(now, c)
//	j.Report(now, "h1", counts)            // what a host says
//	for _, v := range j.Run(now, up) { … } // up: the links that the control plane has in use
//
// A probe climbs from a host's T0 by some links, descends by the same links, and returns to the
// host's port. A probe that climbs by no link tests the host's cable and its T0; a probe that
// climbs by one link tests a T0-T1 link besides.
package selfprobe

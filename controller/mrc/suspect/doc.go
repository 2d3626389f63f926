// Package suspect names the link that loses packets, from what hosts and
// switches count: a link that is up, forwards most of what it gets, and is
// known to no protocol as bad (a grey link).
//
// Every piece of evidence has one form: of so many packets that took a path, a
// list of links, each in its direction, so many were lost, and so many arrived
// with a congestion mark. Hosts give it by entropy value, of data and of probes;
// the counters at the two ends of a link give it for the path of that link
// alone.
//
//	l, err := suspect.New(suspect.Defaults())
//	p := l.Path(links)
//	l.Observe(now, p, suspect.Counts{Sent: 4096, Lost: 41})
//	for _, s := range l.Suspects(now) { … s.Links, s.Loss, s.Confidence … }
//
// A link is suspected when packets across it are lost at a rate of their own:
// the likelihood of two rates, across it and elsewhere, against that of one rate
// for all. The best link explains the losses of all its paths; what is left is
// asked again, so that links which only share paths with a bad one are not
// named. Losses of paths on which many packets arrive marked are congestion's,
// and accuse nobody.
//
// The package is pure: no clock, no goroutine. A Locator is not safe for
// concurrent use.
package suspect

// Package suspect names the link that loses packets, from counts by hosts and switches. It looks
// for grey links: links that are up, forward most packets, and look good to every protocol.
//
// Every piece of evidence has one form: a path (a list of links, each with a direction), the
// packets sent along the path, the packets lost, and the packets that arrived with a congestion
// mark. Hosts provide evidence for each entropy value, from data and probes. The counters at the
// two ends of a link provide evidence for the path of this link alone.
//
//	l, err := suspect.New(suspect.Defaults())
//	p := l.Path(links)
//	l.Observe(now, p, suspect.Counts{Sent: 4096, Lost: 41})
//	for _, s := range l.Suspects(now) { … s.Links, s.Loss, s.Confidence … }
//
// A link is a suspect when packets across the link are lost at a rate of their own. The test
// compares the likelihood of two rates, across the link and elsewhere, with the likelihood of one
// rate for all packets. The best link explains the losses of all its paths. The remaining losses
// are tested again, so that links which only share paths with a bad link are not named. Losses on
// paths with many marked packets come from congestion and accuse no link.
//
// The package is pure: no clock, no goroutine. A Locator is not safe for
// concurrent use.
package suspect

// Package ready decides whether the fabric is ready for a job: GO only if every fact that the job
// depends on is known to be good.
//
// [Judge] is a function of [Facts]. An unknown fact blocks a job like a bad fact: the zero [Fact]
// is unknown. Facts that follow from each other have one cause: a dead switch takes ports, links
// and paths down, and is one blocker.
package ready

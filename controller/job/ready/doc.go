// Package ready decides whether the fabric is ready for a job: GO only if every fact that the job
// depends on is known to be good.
//
// [Judge] is a function of [Facts]. What is not known is in the way as what is bad is: the zero
// [Fact] is unknown. Facts that follow from each other have one cause: a switch that is dead takes
// ports, links and paths with it, and is one blocker.
package ready

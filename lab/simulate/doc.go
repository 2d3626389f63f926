// Package simulate says what a fabric, its jobs and its failures do before they happen. [Run] runs
// a [Scenario] in virtual time: the real core of the controller, the P4 program in every switch and
// the MRC transport in every NIC. It returns when each step of each job ended, and what the
// messages of the job met.
//
// The parts, each of which knows only the ones before:
//
//   - A Scenario is what a file says. [Parse] checks form and meaning.
//   - A [Graph] is the messages of one collective among n ranks: who sends how many octets to whom,
//     after which other messages.
//   - A worker runs the steps of one job: the worker posts a message when the messages before have
//     arrived.
//   - A [Result] is what happened. [Compare] sets a run with events beside a run without, and
//     [RunSweep] runs a scenario once for each part that may fail.
//
// The same scenario with the same seed gives the same Result on every machine: one goroutine runs a
// scenario, in the time of [lab.World].
package simulate

// Package flows says what jobs get from an MRC fabric if packets were fluids: how long a step takes,
// which links bound it, and what changes when parts of the fabric are lost.
//
// The parts, each of which knows only the ones before:
//
//   - A [Network] is a fabric as the controller knows it, with the NICs at its leaves. A [State] says
//     what is lost.
//   - A [Job] is ranks with the [Collective] of each communicator. [Network.Compile] makes a [Model]
//     of some jobs, in which NICs that are alike are one class, and so are messages between them.
//   - The EVs that the controller would have NICs hold in a State decide which links carry which
//     part of a message's packets (paths.go). Rates follow by progressive filling (package maxmin),
//     with links that are alike as one.
//   - [Model.Run] runs the steps of the jobs through states in turn.
//
// Nothing here has a goroutine, a clock or a random number: equal inputs have equal outputs.
package flows

// Package flows says what jobs get from an MRC fabric if packets were fluids: how long a step
// takes, which links bound the step, and what changes when parts of the fabric are lost.
//
// The parts, each of which knows only the ones before:
//
//   - A [Network] is a fabric as the controller knows the fabric, with NICs at leaves. A [State]
//     says what is lost.
//   - A [Job] is ranks with the [Collective] of each communicator. [Network.Compile] makes a
//     [Model] of some jobs. A class stands for NICs that are alike.
//   - The EVs that the controller would have NICs hold in a State decide which links carry which
//     part of a message's packets (paths.go). Rates follow by progressive filling (package
//     maxmin), with similar links joined.
//   - [Model.Run] runs the steps of the jobs through states in turn.
//
// Nothing here has a goroutine, a clock or a random number: equal inputs have equal outputs.
package flows

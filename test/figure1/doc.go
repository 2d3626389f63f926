// Package figure1 runs the draft's Figure 1 on six BMv2 switches (simple_switch_grpc), joined by
// veth pairs, with the controller, the BGP-LS speakers and the software hosts of package lab, and
// holds every frame that leaves a switch against the one that the embedded switch sends. It has
// tests only; they are skipped where BMv2 cannot run.
package figure1

// Package target makes configurations of switches that run no P4 program: of SONiC, EOS, Cumulus
// Linux and FRR. It starts from what a switch is (api.SwitchModel), as the API shows it, and knows
// nothing of the controller.
//
//	d := target.Device{Name: "P1-T0-3", System: target.SONiC, Version: "202511"}
//	config, err := sonic.Render(&d, model)  // what the device can hold of it
//	for _, f := range d.Lint(model) { ... } // and what it cannot, or does wrong
//
// What a kind of system can do, from which version on, is data (abilities), as is what hardware
// does wrong (quirks): a row there is all that another release takes. A renderer leaves out what
// the device cannot do, and Lint names it with the reason.
package target

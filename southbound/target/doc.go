// Package target makes configurations for switches without a P4 program: SONiC, EOS, Cumulus Linux
// and FRR. It starts from the model of a switch in the API (api.SwitchModel), and knows nothing of
// the controller.
//
//	d := target.Device{Name: "P1-T0-3", System: target.SONiC, Version: "202511"}
//	config, err := sonic.Render(&d, model)  // what the device can hold of it
//	for _, f := range d.Lint(model) { ... } // and what it cannot, or does wrong
//
// Two tables describe the devices: the features of each system with their first versions
// (abilities), and the faults of hardware (quirks). A new release only needs a new row. A renderer
// leaves out features that the device lacks, and Lint names each of them with the reason.
package target

// Package faults runs whole fabrics, hosts, switches and controller, in virtual time, and breaks
// them. Each run follows from a seed; a run that failed is run again with WEFT_SEED=n.
package faults

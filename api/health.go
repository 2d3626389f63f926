package api

// Health is the answer of /healthz.
type Health struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version" doc:"Version of the program."`
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready  bool             `json:"ready"`
	Checks []ReadinessCheck `json:"checks" doc:"What the controller waits for, or has waited for."`
}

// ReadinessCheck is one thing a controller waits for before it is ready.
type ReadinessCheck struct {
	Name     string `json:"name" doc:"bgp-ls, store, disk, decider, mrc, or bgp-peer/ and the name of a peer, or switch/ and that of a switch."`
	OK       bool   `json:"ok"`
	Advisory bool   `json:"advisory,omitempty" doc:"The check fails, and the controller is ready all the same."`
	Message  string `json:"message,omitempty" doc:"What is missing."`
}

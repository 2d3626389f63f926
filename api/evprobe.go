package api

import "time"

// EVProbe has the results of probes of an EV.
type EVProbe struct {
	Profile     string    `json:"profile"`
	EV          string    `json:"ev" doc:"Value in hexadecimal and port."`
	Port        uint8     `json:"port"`
	Source      string    `json:"source" doc:"The host that probed last."`
	Destination string    `json:"destination" doc:"The host that it probed."`
	At          time.Time `json:"at" doc:"When the last result came."`
	Sent        uint64    `json:"sent" doc:"Probes made."`
	Received    uint64    `json:"received" doc:"Probes answered."`
	Loss        float64   `json:"loss" doc:"Moving average, of 1."`
	RTTMin      *Duration `json:"rttMin,omitempty" doc:"Of the last probes that were answered, like the next two; absent while none was."`
	RTTMean     *Duration `json:"rttMean,omitempty"`
	RTTMax      *Duration `json:"rttMax,omitempty"`
}

package api

import "time"

// History is what an object did.
type History struct {
	Kind  string `json:"kind" enum:"port,queue"`
	Name  string `json:"name" doc:"Of a port SWITCH/PORT, of a queue SWITCH/PORT/QUEUE."`
	Speed uint64 `json:"speed,omitempty" doc:"Speed of a port in bit/s; absent when it is not known."`
	// Step is the time between two points.
	Step int `json:"step" doc:"Seconds from one point to the next: at least the step that was asked for, and 60 or more for what is older than 15 minutes."`
	// Times and the Values of each series have the same length.
	Times  []int64  `json:"times" nullable:"false" doc:"Unix times in seconds at which the points begin, one step apart."`
	Series []Series `json:"series" nullable:"false" doc:"In the order of the metrics of the kind; those that the switch does not report are absent."`
}

// Series are the values of one metric.
type Series struct {
	Metric string     `json:"metric" example:"inBits"`
	Unit   string     `json:"unit" enum:"bit/s,packets/s,frames/s,octets,1"`
	Values []*float64 `json:"values" nullable:"false" doc:"One for each of the times: the mean of a rate over the step, the greatest of any other value; null in a gap."`
}

// Top are the objects of a kind with the greatest values of a metric.
type Top struct {
	Kind   string    `json:"kind" enum:"port,queue"`
	Metric string    `json:"metric" example:"utilization"`
	Unit   string    `json:"unit" enum:"bit/s,packets/s,frames/s,octets,1" doc:"1: a share of the speed, or a number."`
	Over   int       `json:"over" doc:"Seconds, up to now, that the values are of: the mean of a rate, the greatest of any other value."`
	Time   time.Time `json:"time"`
	Items  []TopItem `json:"items" nullable:"false" doc:"The greatest first. Objects without a value, or with 0, are absent."`
}

// TopItem is an object with a value.
type TopItem struct {
	Name  string  `json:"name" doc:"Of a port SWITCH/PORT, of a queue SWITCH/PORT/QUEUE."`
	Value float64 `json:"value"`
	In    float64 `json:"in,omitempty" doc:"With utilization: what the port receives, as a share of its speed."`
	Out   float64 `json:"out,omitempty" doc:"With utilization: what the port transmits, as a share of its speed."`
	Speed uint64  `json:"speed,omitempty" doc:"Speed of a port in bit/s; absent when it is not known."`
}

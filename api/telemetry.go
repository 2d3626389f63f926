package api

import "time"

// History has the rates of an object over time.
type History struct {
	Kind  string `json:"kind" enum:"port,queue,group,ev-profile,tunnel,fabric"`
	Name  string `json:"name" doc:"Of a port SWITCH/PORT, of a queue SWITCH/PORT/QUEUE, of a tunnel SWITCH/ID, of a multicast group or an EV profile that of the resource; all for the fabric, plane/N for a plane of it, and job/NAME for the NICs of a job that has not ended."`
	Speed uint64 `json:"speed,omitempty" doc:"Speed of a port in bit/s; absent when it is not known."`
	// Step is the time between two points.
	Step int `json:"step" doc:"Seconds from one point to the next: at least the step that was asked for, and 60 or more for what is older than 15 minutes."`
	// Times and the Values of each series have the same length.
	Times  []int64  `json:"times" doc:"Unix times in seconds at which the points begin, one step apart."`
	Series []Series `json:"series" doc:"In the order of the metrics of the kind; those that are not reported are absent."`
}

// Series are the values of one metric.
type Series struct {
	Metric string     `json:"metric" example:"inBits"`
	Unit   string     `json:"unit" enum:"bit/s,packets/s,frames/s,octets,s,1"`
	Values []*float64 `json:"values" doc:"One for each of the times: the mean of a rate over the step, the greatest of any other value; null in a gap."`
}

// Top are the objects of a kind with the greatest values of a metric.
type Top struct {
	Kind   string    `json:"kind" enum:"port,queue,group,ev-profile,tunnel,fabric"`
	Metric string    `json:"metric" example:"utilization"`
	Unit   string    `json:"unit" enum:"bit/s,packets/s,frames/s,octets,s,1" doc:"1: a share of the speed, or a number."`
	Over   int       `json:"over" doc:"Seconds, up to time, that the values are of: the mean of a rate, the greatest of any other value."`
	Time   time.Time `json:"time"`
	Items  []TopItem `json:"items" doc:"The greatest first. Objects without a value, or with 0, are absent."`
}

// TopItem is an object with a value.
type TopItem struct {
	Name  string  `json:"name" doc:"Of a port SWITCH/PORT, of a queue SWITCH/PORT/QUEUE, of a tunnel SWITCH/ID, of a multicast group or an EV profile that of the resource."`
	Value float64 `json:"value"`
	In    float64 `json:"in,omitempty" doc:"With utilization: what the port receives, as a share of its speed."`
	Out   float64 `json:"out,omitempty" doc:"With utilization: what the port transmits, as a share of its speed."`
	Speed uint64  `json:"speed,omitempty" doc:"Speed of a port in bit/s; absent when it is not known."`
}

// PortColumns has the rates of all ports, by switch.
type PortColumns struct {
	Time     time.Time       `json:"time"`
	Over     int             `json:"over" doc:"Seconds, up to time, that the values are means of."`
	Switches []SwitchColumns `json:"switches" doc:"In natural order of their names."`
}

// SwitchColumns holds the rates of the ports of a switch, in arrays of one length: values at the
// same place belong to the same port.
type SwitchColumns struct {
	Name  string    `json:"name"`
	Ports []uint32  `json:"ports" doc:"Their ids."`
	In    []float64 `json:"in" doc:"Received bit/s; -1: not measured."`
	Out   []float64 `json:"out" doc:"Transmitted bit/s; -1: not measured."`
	Speed []uint64  `json:"speed" doc:"Their speeds in bit/s; 0: not known."`
}

// Matrix is the utilization of the links between the two lowest tiers of a plane.
type Matrix struct {
	Plane   int       `json:"plane"`
	Over    int       `json:"over" doc:"Seconds, up to time, that the values are means of."`
	Time    time.Time `json:"time"`
	Rows    []string  `json:"rows" doc:"Names of the switches of tier 0 (T0), in natural order."`
	Columns []string  `json:"columns" doc:"Names of the switches of tier 1 (T1), in natural order."`
	// Up and Down are in thousandths of the capacity.
	Up   [][]int `json:"up" doc:"A row for each of the rows, with a value for each of the columns: what T0 sends to T1, in thousandths of the capacity of the links between them; -1: there is no link, no speed or no sample."`
	Down [][]int `json:"down" doc:"The same for what T1 sends to T0."`
}

// PlaneBalance reports how evenly a leaf uses its links into a plane, and the traffic sent there.
type PlaneBalance struct {
	Plane       int     `json:"plane"`
	Leaf        string  `json:"leaf" doc:"Name of the switch of tier 0."`
	Links       int     `json:"links" doc:"Links up that have a speed and samples."`
	Utilization float64 `json:"utilization" doc:"Mean rate of these links, as a share of their speed."`
	Index       float64 `json:"index" doc:"Utilization of the busiest of them by the mean: 1 is even. 0: nothing is sent."`
	Busiest     string  `json:"busiest,omitempty" doc:"Name of the switch that the busiest link leads to."`
	// Conditions has Unbalanced.
	Conditions Conditions `json:"conditions" doc:"Unbalanced: the index is above 1.25 while the links are used by 1 % or more."`
}

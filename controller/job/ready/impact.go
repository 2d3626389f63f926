package ready

// Concern is a job that parts of the fabric may concern.
type Concern struct {
	Job      string
	Version  uint64
	Priority int
	Running  bool
	Need     *Need
}

// Running is a running job.
type Running struct {
	Job   string
	Pairs int // of racks
	// Fabric has the known state of the job's dependencies; nil: unknown.
	Fabric *Fabric
}

// Impact is the loss to a job without some parts of the fabric, compared with an intact fabric.
type Impact struct {
	// Pairs are the pairs of racks that lose paths.
	Pairs []PairImpact
	// CutOff are the ranks that have no port left.
	CutOff []int32
}

// None reports whether the job loses nothing.
func (i *Impact) None() bool { return len(i.Pairs)+len(i.CutOff) == 0 }

// PairImpact is what a pair of racks loses.
type PairImpact struct {
	// Pair is the place in the pairs of the need.
	Pair int32
	// Before and After are paths over all planes.
	Before, After int32
}

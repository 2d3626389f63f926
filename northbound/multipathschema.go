package northbound

// These describe types of packages intent and multipath, as those of schema.go do.

type evProfileSpec struct {
	Mode      string `json:"mode,omitempty" enum:"AUTO,EXP,GEN" doc:"Who makes the EVs: the device on its own (only with hashed paths), the controller, or the device by fields. Default: GEN where the fabric is regular and the hosts can, EXP elsewhere."`
	MaxEVs    int    `json:"maxEvs,omitempty" doc:"EVs of the profile at most. Default: the configuration's."`
	MinActive int    `json:"minActive,omitempty" doc:"EVs that a host leaves active when it finds some bad by itself; at most the count. Default: the configuration's, or a quarter of the count."`
	CCProfile string `json:"ccProfile,omitempty" maxLength:"63" doc:"Name of the CC profile for the destinations. Default: the configuration's."`
}

type adminSpec struct {
	Admin string `json:"admin" enum:"up,drained" doc:"drained: it is not to be used, and nothing is lost on the way there. up, the default: it is."`
}

type ccProfileSpec struct {
	Algorithm string `json:"algorithm,omitempty" doc:"uet-1.0-nscc, the default: no other is known."`
	NSCC      nscc   `json:"nscc" doc:"Parameters of NSCC."`
}

type nscc struct {
	DisableQA             bool    `json:"disableQa,omitempty" doc:"No quick adapt."`
	AdjustBytesThreshold  uint32  `json:"adjustBytesThreshold,omitempty" format:"uint32" doc:"Octets; increases are applied when more than this were acknowledged."`
	AdjustPeriodThreshold string  `json:"adjustPeriodThreshold,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"Or when more than this has passed."`
	BaseRTT               string  `json:"baseRtt,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"Round trip of an idle network with one full packet, until a lesser sample is seen."`
	Eta                   float32 `json:"eta,omitempty" doc:"Octets, added once every adjustPeriodThreshold."`
	FI                    float32 `json:"fi,omitempty" doc:"Fair increase, octets a window."`
	FIScale               float32 `json:"fiScale,omitempty" doc:"Fast increase: share of the octets acknowledged."`
	Gamma                 float32 `json:"gamma" doc:"Multiplicative decrease, above 0 and at most 1."`
	MaxMDJump             float32 `json:"maxMdJump" doc:"One decrease leaves at least this share of the window, above 0 and at most 1."`
	MaxCwnd               uint32  `json:"maxCwnd" format:"uint32" doc:"Octets; the greatest window, and the one to start with."`
	QAGate                uint8   `json:"qaGate,omitempty" doc:"Quick adapt asks that less than maxCwnd / 2^qaGate was achieved, at most 31."`
	QAThreshold           string  `json:"qaThreshold,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"And a delay above this, or a loss."`
	TargetDelay           string  `json:"targetDelay" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"Delay of queues that is aimed at."`
	Alpha                 float32 `json:"alpha,omitempty" doc:"Octets a second; proportional increase: alpha x (targetDelay - delay) octets a window. Here and below 0 is the device's own."`
	DelayWeight           float32 `json:"delayWeight,omitempty" doc:"Of a sample in the average delay, at most 1."`
	MinCwnd               uint32  `json:"minCwnd,omitempty" format:"uint32" doc:"Octets; the least window, at most maxCwnd."`
	FastDelay             string  `json:"fastDelay,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"A delay below this is none: fast increase."`
	DelayRelief           float32 `json:"delayRelief,omitempty" doc:"Share of the base round trip that an unmarked sample above the target counts for in the average, at most 1."`
	NACKDelay             string  `json:"nackDelay,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"That a NACK counts for in the average."`
}

type fabricCounters struct {
	UnknownHosts  uint64 `json:"unknownHosts" doc:"Messages of hosts that nobody knows."`
	UnknownEVs    uint64 `json:"unknownEvs" doc:"Events and counts of EVs that the host does not hold."`
	BadCounts     uint64 `json:"badCounts" doc:"Counts that cannot be."`
	BadEvents     uint64 `json:"badEvents" doc:"States that no host reports."`
	LostEvents    uint64 `json:"lostEvents" doc:"Events that hosts say they lost."`
	UnknownPaths  uint64 `json:"unknownPaths" doc:"Events and counts of EVs whose path nobody knows."`
	UnknownProbes uint64 `json:"unknownProbes" doc:"Results of probes that are not under way."`
	LostProbes    uint64 `json:"lostProbes" doc:"Probes whose result did not come."`
	BadPorts      uint64 `json:"badPorts" doc:"Ports that a host does not have."`
}

package ev

// A FormatModes is a set of format modes (mrc_ctl_ev_fmt_mode).
type FormatModes uint32

// Format modes.
const (
	FormatStructured FormatModes = 1 << iota // MRC_CTL_EV_FMT_MODE_STEV
	FormatSRv6                               // MRC_CTL_EV_FMT_MODE_SRV6
	FormatUDP                                // MRC_CTL_EV_FMT_MODE_UDP
)

// A ProfileModes is a set of profile modes (mrc_ctl_ev_mode).
type ProfileModes uint32

// Profile modes.
const (
	// Auto: the device chooses EVs itself; the controller provides none.
	Auto ProfileModes = 1 << iota
	// Explicit: the controller provides every EV.
	Explicit
	// Generated: the device makes EVs as the fields say.
	Generated
)

// Options are optional features of a device (mrc_ctl_attr_opt).
type Options uint32

// Optional features.
const (
	ModifyOnline   Options = 1 << 0 // EV profiles are changed while ONLINE
	EVEvents       Options = 1 << 2
	ExplicitRange  Options = 1 << 3 // explicit EVs must be consecutive values
	PreciseDrops   Options = 1 << 4
	EVProbes       Options = 1 << 5
	ModifyCCOnline Options = 1 << 1
)

// Capabilities are what a host's device can hold: mrc_ctl_device_attr of
// mrc_ctl.h, under Go names.
type Capabilities struct {
	MaxFormats    uint32       // ev_max_fmt_profiles
	MaxProfiles   uint32       // ev_max_profiles
	MaxEVs        uint32       // ev_max_count, over all profiles
	FreeEVs       uint32       // ev_free_count
	MaxProfileEVs uint32       // ev_max_count_profile
	Align         uint32       // ev_count_align; 0 is 1
	MaxWidth      uint32       // ev_max_width: bits of a value
	Formats       FormatModes  // ev_fmt_mode_mask
	Modes         ProfileModes // ev_mode_mask
	MaxBatch      uint32       // ev_op_max_entries; 0 is no limit
	Ports         uint32       // phy_port_mask: bit n is port n, from 1
	Options       Options      // opt_attr
}

// Unlimited are the capabilities of a device that can do everything.
func Unlimited() Capabilities {
	const much = 1<<32 - 1
	return Capabilities{
		MaxFormats: much, MaxProfiles: much, MaxEVs: much, FreeEVs: much, MaxProfileEVs: much, Align: 1, MaxWidth: 8 * ValueBytes,
		Formats: FormatStructured | FormatSRv6 | FormatUDP, Modes: Auto | Explicit | Generated, Ports: much - 1, Options: ModifyOnline | EVEvents | EVProbes,
	}
}

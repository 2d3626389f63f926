package api

import (
	"errors"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

func TestValidateEVProfile(t *testing.T) {
	known := func(name string) bool { return name == "slow" }
	for _, c := range []struct {
		name string
		spec EVProfileSpec
		env  EVProfileEnv
		want string // "" is fine
	}{
		{"nothing", EVProfileSpec{}, EVProfileEnv{}, ""},
		{"all", EVProfileSpec{Mode: EVModeExplicit, MaxEVs: 64, MinActive: 64, CCProfile: "slow"},
			EVProfileEnv{Count: 64}, ""},
		{"mode", EVProfileSpec{Mode: "exp"}, EVProfileEnv{},
			`spec.mode is "exp": want "AUTO", "EXP" or "GEN", or nothing for the controller's choice`},
		{"auto", EVProfileSpec{Mode: EVModeAuto}, EVProfileEnv{},
			`spec.mode is "AUTO": want "EXP" or "GEN": of EVs that a device makes on its own nobody knows ` +
				`the paths, so AUTO is for mode ecmp`},
		{"auto of ecmp", EVProfileSpec{Mode: EVModeAuto}, EVProfileEnv{HashedPaths: true}, ""},
		{"few", EVProfileSpec{MaxEVs: -1}, EVProfileEnv{},
			"spec.maxEvs is -1: want a number of EVs, 1 to 65536"},
		{"many", EVProfileSpec{MaxEVs: 65537}, EVProfileEnv{},
			"spec.maxEvs is 65537: want a number of EVs, 1 to 65536 (limit 65536)"},
		{"active over maxEvs", EVProfileSpec{MaxEVs: 8, MinActive: 9}, EVProfileEnv{},
			"spec.minActive is 9: want a number of EVs up to maxEvs, 1 to 8 (limit 8)"},
		{"active over count", EVProfileSpec{MaxEVs: 8, MinActive: 5}, EVProfileEnv{Count: 4},
			"spec.minActive is 5: want a number of the EVs that the profile has, 1 to 4 (limit 4)"},
		{"negative", EVProfileSpec{MinActive: -2}, EVProfileEnv{},
			"spec.minActive is -2: want a number of EVs, 1 to 65536"},
		{"cc", EVProfileSpec{CCProfile: "fast"}, EVProfileEnv{},
			`spec.ccProfile is "fast": want the name of a CC profile`},
		{"two", EVProfileSpec{Mode: "x", CCProfile: "fast"}, EVProfileEnv{},
			`spec.mode is "x": want "AUTO", "EXP" or "GEN", or nothing for the controller's choice; ` +
				`spec.ccProfile is "fast": want the name of a CC profile`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.env.HasCCProfile = known
			checkRefusal(t, ValidateEVProfile(&c.spec, c.env), c.want)
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
		if e := (*Error)(nil); !errors.As(err, &e) || len(e.Fields) == 0 {
			t.Errorf("%T names no field", err)
		}
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestEVModes: modes have the names of mrc_ctl.h, as in the host API.
func TestEVModes(t *testing.T) {
	for mode, want := range map[EVMode]hostapi.Mode{
		EVModeAuto: hostapi.ModeAuto, EVModeExplicit: hostapi.ModeExplicit,
		EVModeGenerated: hostapi.ModeGenerated, "": 0, "EXP ": 0,
	} {
		if got := mode.HostMode(); got != want {
			t.Errorf("%q is %v, want %v", mode, got, want)
		}
	}
}

func TestValidateAdmin(t *testing.T) {
	for state, want := range map[AdminState]string{
		AdminUp: "", AdminDrained: "", "": `spec.admin is "": want "up" or "drained"`,
		"down": `spec.admin is "down": want "up" or "drained"`,
	} {
		checkRefusal(t, ValidateAdmin(&AdminSpec{Admin: state}), want)
	}
}

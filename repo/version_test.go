package repo

import "testing"

func TestParseVersion(t *testing.T) {
	for in, want := range map[string]GitVersion{
		"git version 2.39.5":                   {2, 39},
		"git version 2.39.5 (Apple Git-154)":   {2, 39},
		"git version 2.45.1.windows.1\n":       {2, 45},
		"git version 2.55.GIT":                 {2, 55},
		"git version 2.54-rc1":                 {2, 54},
		"git version 3.0.0.12.gdeadbeef.dirty": {3, 0},
	} {
		if got, err := ParseVersion(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "git", "git version", "git version x.y", "git version 2", "hub version 2.39"} {
		if got, err := ParseVersion(in); err == nil {
			t.Errorf("%q is %v", in, got)
		}
	}
	if !Oldest.Less(ConfigHooks) || ConfigHooks.Less(ConfigHooks) || (GitVersion{3, 0}).Less(ConfigHooks) {
		t.Error("versions are not in order")
	}
}

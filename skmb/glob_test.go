package skmb

import (
	"strings"
	"testing"

	"assent/internal/budget"
)

func TestAPathPatternCoversWhatItSays(t *testing.T) {
	cases := []struct {
		pattern, path string
		want          bool
	}{
		{"a.go", "a.go", true},
		{"a.go", "b/a.go", false},
		{"a", "a/b/c.go", true},
		{"a/", "a/b.go", true},
		{"./a", "a", true},
		{"/a", "a", true},
		{"a/b", "a", false},
		{"ab", "abc", false},
		{"*.go", "a.go", true},
		{"*.go", "a/b.go", false},
		{"a/*.go", "a/b.go", true},
		{"a/*", "a", false},
		{"a/?", "a/b", true},
		{"a/?", "a/", false},
		{"**", "a/b/c", true},
		{"a/**", "a/b/c", true},
		{"a/**", "a", true},
		{"**/c", "a/b/c", true},
		{"**/c", "c", true},
		{"**/b", "a/b/c", true},
		{"a/**/c", "a/c", true},
		{"a/**/c", "a/x/y/c", true},
		{"a/**/c/**/e", "a/c/d/c/e", true},
		{"a/**/c/**/e", "a/d/e", false},
		{"**/**/c", "c", true},
		{"**/a*/b", "x/ab/a/b", true},
		{"", "a", false},
		{"/", "a", false},
		{"*a*b*", "xaxbx", true},
		{"*a*b*", "xbxax", false},
	}
	for _, c := range cases {
		t.Run(c.pattern+" "+c.path, func(t *testing.T) {
			if got := matchPath(c.pattern, c.path); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Patterns come from files: whatever somebody writes there is answered.
func TestAPathPatternIsAnsweredInTime(t *testing.T) {
	for _, c := range [][2]string{
		{strings.Repeat("**/a/", 500) + "b", strings.Repeat("a/", 2000) + "c"},
		{strings.Repeat("*a", 500) + "b", strings.Repeat("a", 4000)},
	} {
		budget.Within(t, soon, func() {
			if matchPath(c[0], c[1]) {
				t.Error("it is said to cover the path")
			}
		})
	}
}

//go:build race

package skmb

// slower is what the race detector makes of the readers, about.
const slower = 16

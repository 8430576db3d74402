//go:build !race

package skmb

// slower is what the race detector makes of the readers: here it is not at work.
const slower = 1

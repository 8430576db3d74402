//go:build race

package budget

const slower = 16

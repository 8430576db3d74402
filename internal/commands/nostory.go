//go:build !story

package commands

import "assent/store"

var fault func(store.Step) error

//go:build !story

package commands

import "assent/store"

var fault func(store.Step) error

var ruleStep func(string) error
